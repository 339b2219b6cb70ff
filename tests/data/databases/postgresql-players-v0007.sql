--
-- PostgreSQL database dump
--



SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: alembic_version; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.alembic_version (
    version_num character varying(32) NOT NULL
);


--
-- Name: challenge; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.challenge (
    digest text NOT NULL COLLATE pg_catalog."C",
    expires text NOT NULL COLLATE pg_catalog."C"
);


--
-- Name: code; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.code (
    digest text NOT NULL COLLATE pg_catalog."C",
    name text COLLATE pg_catalog."C",
    expires text NOT NULL COLLATE pg_catalog."C",
    uses integer NOT NULL
);


--
-- Name: entry; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.entry (
    game text NOT NULL COLLATE pg_catalog."C",
    seq integer NOT NULL,
    text text NOT NULL COLLATE pg_catalog."C",
    sig bytea NOT NULL,
    receipt text NOT NULL COLLATE pg_catalog."C",
    receipt_sig bytea NOT NULL
);


--
-- Name: game; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.game (
    game text NOT NULL COLLATE pg_catalog."C",
    ruleset text NOT NULL COLLATE pg_catalog."C",
    status text NOT NULL COLLATE pg_catalog."C",
    host text COLLATE pg_catalog."C",
    guest text COLLATE pg_catalog."C",
    invite text COLLATE pg_catalog."C",
    seq integer NOT NULL,
    head text NOT NULL COLLATE pg_catalog."C",
    round integer NOT NULL,
    actor integer,
    to_move text COLLATE pg_catalog."C",
    created text NOT NULL COLLATE pg_catalog."C",
    updated text NOT NULL COLLATE pg_catalog."C",
    reason text COLLATE pg_catalog."C",
    winner integer,
    ended text COLLATE pg_catalog."C"
);


--
-- Name: opening; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.opening (
    game text NOT NULL COLLATE pg_catalog."C",
    seq integer NOT NULL,
    part integer NOT NULL,
    cards text NOT NULL COLLATE pg_catalog."C",
    salt text NOT NULL COLLATE pg_catalog."C"
);


--
-- Name: player; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.player (
    name text NOT NULL COLLATE pg_catalog."C",
    key text NOT NULL COLLATE pg_catalog."C",
    registered text NOT NULL COLLATE pg_catalog."C",
    text text NOT NULL COLLATE pg_catalog."C",
    sig text NOT NULL COLLATE pg_catalog."C"
);


--
-- Name: retired; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.retired (
    key text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    at text NOT NULL COLLATE pg_catalog."C",
    revoked boolean NOT NULL,
    text text COLLATE pg_catalog."C",
    sig text COLLATE pg_catalog."C",
    new_sig text COLLATE pg_catalog."C"
);


--
-- Name: secret; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.secret (
    game text NOT NULL COLLATE pg_catalog."C",
    seed text NOT NULL COLLATE pg_catalog."C",
    offered_to text NOT NULL COLLATE pg_catalog."C"
);


--
-- Name: service; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.service (
    id integer NOT NULL,
    private_key text NOT NULL COLLATE pg_catalog."C",
    origin text NOT NULL COLLATE pg_catalog."C"
);


--
-- Name: service_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.service_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: service_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.service_id_seq OWNED BY public.service.id;


--
-- Name: token; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.token (
    digest text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    expires text NOT NULL COLLATE pg_catalog."C"
);


--
-- Name: service id; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.service ALTER COLUMN id SET DEFAULT nextval('public.service_id_seq'::regclass);


--
-- Data for Name: alembic_version; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.alembic_version VALUES ('0007');


--
-- Data for Name: challenge; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.challenge VALUES ('d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0', '2026-12-20T12:00:00Z');


--
-- Data for Name: code; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.code VALUES ('c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0', NULL, '2026-12-20T12:00:00Z', 3);
INSERT INTO public.code VALUES ('c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1', 'carol', '2026-12-20T12:00:00Z', 1);


--
-- Data for Name: entry; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: game; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: opening; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: player; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.player VALUES ('alice', 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIMqTrBcFGHBx1nuDx/8O/oEI6OxFMFdddyaHkzPb2r58', '2026-11-20T12:00:00Z', '{"at":"2026-12-20T12:00:00Z","key":"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIMqTrBcFGHBx1nuDx/8O/oEI6OxFMFdddyaHkzPb2r58","name":"alice","old":"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIqI4910CfGV/VLbLTy6XXLKZwm/HZQSG/N0iAG0D29c","origin":"http://127.0.0.1:8000","v":1}', 'U1NIU0lHAAAAAQAAADMAAAALc3NoLWVkMjU1MTkAAAAgypOsFwUYcHHWe4PH/w7+gQjo7EUwV113JoeTM9vavnwAAAAPaGtvamkubmV3a2V5LnYxAAAAAAAAAAZzaGE1MTIAAABTAAAAC3NzaC1lZDI1NTE5AAAAQBl+ObeNWNF/Y/GI7OWsO6gNJpDD/ab21QKr336j7BOTUsCe10mrxYFJHu/GG6GkStBf9QBAcNmWdrsI/1sTkQQ=');
INSERT INTO public.player VALUES ('bob', 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIE5dw6ofRdfVqNUZsNMfszLjYqRtO43ol32D1uPybOU', '2026-11-20T12:00:00Z', '{"at":"2026-11-20T12:00:00Z","key":"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIE5dw6ofRdfVqNUZsNMfszLjYqRtO43ol32D1uPybOU","name":"bob","origin":"http://127.0.0.1:8000","v":1}', 'U1NIU0lHAAAAAQAAADMAAAALc3NoLWVkMjU1MTkAAAAggTl3Dqh9F19Wo1Rmw0x+zMuNipG07jeiXfYPW4/Js5QAAAARaGtvamkucmVnaXN0ZXIudjEAAAAAAAAABnNoYTUxMgAAAFMAAAALc3NoLWVkMjU1MTkAAABAbse+Vn/hH+NpMlbOcBDNzaMvY+E8XPC7azQNNJYJboPIsC/FvMOB/y/KJypwpJLLWLNOPwFSKYre5Nk3UrLYAQ==');
INSERT INTO public.player VALUES ('carol', 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIO1JKMYo0cLG6ukDOJBZlWEpWSc6XGP5NjbBRhSshzfR', '2026-11-20T12:00:00Z', '{"at":"2026-11-20T12:00:00Z","key":"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIO1JKMYo0cLG6ukDOJBZlWEpWSc6XGP5NjbBRhSshzfR","name":"carol","origin":"http://127.0.0.1:8000","v":1}', 'U1NIU0lHAAAAAQAAADMAAAALc3NoLWVkMjU1MTkAAAAg7UkoxijRwsbq6QM4kFmVYSlZJzpcY/k2NsFGFKyHN9EAAAARaGtvamkucmVnaXN0ZXIudjEAAAAAAAAABnNoYTUxMgAAAFMAAAALc3NoLWVkMjU1MTkAAABAmDqLi9kjBZ4l7WNcxr8YWKcKxehYDnMZeuLA0aCJQyauT7xoOSBo6O1FAorUugK9wuXFpMHjmeRijzoCm1SEAg==');


--
-- Data for Name: retired; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.retired VALUES ('ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIO1JKMYo0cLG6ukDOJBZlWEpWSc6XGP5NjbBRhSshzfR', 'carol', '2026-12-20T12:00:00Z', true, '{"at":"2026-12-20T12:00:00Z","key":"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIO1JKMYo0cLG6ukDOJBZlWEpWSc6XGP5NjbBRhSshzfR","name":"carol","origin":"http://127.0.0.1:8000","v":1}', 'U1NIU0lHAAAAAQAAADMAAAALc3NoLWVkMjU1MTkAAAAg7UkoxijRwsbq6QM4kFmVYSlZJzpcY/k2NsFGFKyHN9EAAAAPaGtvamkucmV2b2tlLnYxAAAAAAAAAAZzaGE1MTIAAABTAAAAC3NzaC1lZDI1NTE5AAAAQDQujrGbtSVenfHHPM0L8VlA777fjtVYA+jbgfUUMBzo4eXjOtd8Ylr0j0SQuKjiZrqrhjvCiqbgZh7EM5xmvA0=', NULL);
INSERT INTO public.retired VALUES ('ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIqI4910CfGV/VLbLTy6XXLKZwm/HZQSG/N0iAG0D29c', 'alice', '2026-12-20T12:00:00Z', false, '{"at":"2026-12-20T12:00:00Z","key":"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIMqTrBcFGHBx1nuDx/8O/oEI6OxFMFdddyaHkzPb2r58","name":"alice","old":"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIqI4910CfGV/VLbLTy6XXLKZwm/HZQSG/N0iAG0D29c","origin":"http://127.0.0.1:8000","v":1}', 'U1NIU0lHAAAAAQAAADMAAAALc3NoLWVkMjU1MTkAAAAgiojj3XQJ8ZX9UtstPLpdcspnCb8dlBIb83SIAbQPb1wAAAAPaGtvamkubmV3a2V5LnYxAAAAAAAAAAZzaGE1MTIAAABTAAAAC3NzaC1lZDI1NTE5AAAAQCb2EED46ckNnLyUnXB8W2qtouCMFzC1yFf82I9M/ErTtBeFgTN3+1OyfEnWm0e7/9r8bmPcOR1bSHf9LTyzJQM=', 'U1NIU0lHAAAAAQAAADMAAAALc3NoLWVkMjU1MTkAAAAgypOsFwUYcHHWe4PH/w7+gQjo7EUwV113JoeTM9vavnwAAAAPaGtvamkubmV3a2V5LnYxAAAAAAAAAAZzaGE1MTIAAABTAAAAC3NzaC1lZDI1NTE5AAAAQBl+ObeNWNF/Y/GI7OWsO6gNJpDD/ab21QKr336j7BOTUsCe10mrxYFJHu/GG6GkStBf9QBAcNmWdrsI/1sTkQQ=');


--
-- Data for Name: secret; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: service; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.service VALUES (1, '-----BEGIN OPENSSH PRIVATE KEY-----
b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtz
c2gtZWQyNTUxOQAAACD9FyQ4WqDHW2T7eM1gL6HZkf3r92sTxY7XAurINen2GAAA
AIgIE0H1CBNB9QAAAAtzc2gtZWQyNTUxOQAAACD9FyQ4WqDHW2T7eM1gL6HZkf3r
92sTxY7XAurINen2GAAAAEAJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJ
Cf0XJDhaoMdbZPt4zWAvodmR/ev3axPFjtcC6sg16fYYAAAAAAECAwQF
-----END OPENSSH PRIVATE KEY-----
', 'http://127.0.0.1:8000');


--
-- Data for Name: token; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.token VALUES ('e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0', 'bob', '2026-12-20T12:00:00Z');


--
-- Name: service_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.service_id_seq', 1, false);


--
-- Name: alembic_version alembic_version_pkc; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.alembic_version
    ADD CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num);


--
-- Name: challenge challenge_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.challenge
    ADD CONSTRAINT challenge_pkey PRIMARY KEY (digest);


--
-- Name: code code_name_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.code
    ADD CONSTRAINT code_name_key UNIQUE (name);


--
-- Name: code code_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.code
    ADD CONSTRAINT code_pkey PRIMARY KEY (digest);


--
-- Name: entry entry_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.entry
    ADD CONSTRAINT entry_pkey PRIMARY KEY (game, seq);


--
-- Name: game game_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.game
    ADD CONSTRAINT game_pkey PRIMARY KEY (game);


--
-- Name: opening opening_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.opening
    ADD CONSTRAINT opening_pkey PRIMARY KEY (game, seq, part);


--
-- Name: player player_key_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.player
    ADD CONSTRAINT player_key_key UNIQUE (key);


--
-- Name: player player_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.player
    ADD CONSTRAINT player_pkey PRIMARY KEY (name);


--
-- Name: retired retired_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.retired
    ADD CONSTRAINT retired_pkey PRIMARY KEY (key);


--
-- Name: secret secret_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.secret
    ADD CONSTRAINT secret_pkey PRIMARY KEY (game);


--
-- Name: service service_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.service
    ADD CONSTRAINT service_pkey PRIMARY KEY (id);


--
-- Name: token token_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.token
    ADD CONSTRAINT token_pkey PRIMARY KEY (digest);


--
-- Name: game_guest; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX game_guest ON public.game USING btree (guest, status, created) WHERE (guest IS NOT NULL);


--
-- Name: game_guest_ended; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX game_guest_ended ON public.game USING btree (guest, ended) WHERE ((guest IS NOT NULL) AND (ended IS NOT NULL));


--
-- Name: game_host; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX game_host ON public.game USING btree (host, status, created) WHERE (host IS NOT NULL);


--
-- Name: game_host_ended; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX game_host_ended ON public.game USING btree (host, ended) WHERE ((host IS NOT NULL) AND (ended IS NOT NULL));


--
-- Name: game_invite; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX game_invite ON public.game USING btree (invite, status, created) WHERE ((invite IS NOT NULL) AND (guest IS NULL));


--
-- Name: game_invite_ended; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX game_invite_ended ON public.game USING btree (invite, ended) WHERE ((invite IS NOT NULL) AND (guest IS NULL) AND (ended IS NOT NULL));


--
-- Name: game_offered; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX game_offered ON public.game USING btree (created) WHERE (status = 'offered'::text);


--
-- Name: game_shown; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX game_shown ON public.game USING btree (created) WHERE (status <> 'offered'::text);


--
-- Name: game_status; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX game_status ON public.game USING btree (status, created) WHERE (status <> 'offered'::text);


--
-- Name: game_waiting; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX game_waiting ON public.game USING btree (to_move, created) WHERE ((to_move IS NOT NULL) AND (status = 'playing'::text));


--
-- Name: ix_challenge_expires; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_challenge_expires ON public.challenge USING btree (expires);


--
-- Name: ix_code_expires; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_code_expires ON public.code USING btree (expires);


--
-- Name: ix_token_expires; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_token_expires ON public.token USING btree (expires);


--
-- Name: ix_token_name; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_token_name ON public.token USING btree (name);


--
-- Name: retired_name; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX retired_name ON public.retired USING btree (name, at);


--
-- Name: entry entry_game_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.entry
    ADD CONSTRAINT entry_game_fkey FOREIGN KEY (game) REFERENCES public.game(game);


--
-- Name: opening opening_game_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.opening
    ADD CONSTRAINT opening_game_fkey FOREIGN KEY (game) REFERENCES public.game(game);


--
-- Name: secret secret_game_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.secret
    ADD CONSTRAINT secret_game_fkey FOREIGN KEY (game) REFERENCES public.game(game);


--
-- PostgreSQL database dump complete
--


