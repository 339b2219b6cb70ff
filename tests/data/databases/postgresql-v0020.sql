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
-- Name: beat; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.beat (
    way text NOT NULL COLLATE pg_catalog."C",
    at text NOT NULL COLLATE pg_catalog."C",
    version text COLLATE pg_catalog."C"
);


--
-- Name: block; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.block (
    player text NOT NULL COLLATE pg_catalog."C",
    other text NOT NULL COLLATE pg_catalog."C"
);


--
-- Name: bounce; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.bounce (
    digest text NOT NULL COLLATE pg_catalog."C",
    channel text NOT NULL COLLATE pg_catalog."C",
    at text NOT NULL COLLATE pg_catalog."C"
);


--
-- Name: certificate; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.certificate (
    text text NOT NULL COLLATE pg_catalog."C",
    key text NOT NULL COLLATE pg_catalog."C",
    mailbox text NOT NULL COLLATE pg_catalog."C",
    salt text NOT NULL COLLATE pg_catalog."C"
);


--
-- Name: challenge; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.challenge (
    digest text NOT NULL COLLATE pg_catalog."C",
    expires text NOT NULL COLLATE pg_catalog."C"
);


--
-- Name: channel; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.channel (
    id text NOT NULL COLLATE pg_catalog."C",
    player text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    target text NOT NULL COLLATE pg_catalog."C",
    events text NOT NULL COLLATE pg_catalog."C",
    settings text NOT NULL COLLATE pg_catalog."C",
    created text NOT NULL COLLATE pg_catalog."C",
    confirmed text COLLATE pg_catalog."C",
    code text COLLATE pg_catalog."C",
    failures integer NOT NULL,
    off text COLLATE pg_catalog."C"
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
-- Name: draft; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.draft (
    game text NOT NULL COLLATE pg_catalog."C",
    source text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    submission text NOT NULL COLLATE pg_catalog."C",
    entropy text COLLATE pg_catalog."C"
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
-- Name: evidence; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.evidence (
    commit text NOT NULL COLLATE pg_catalog."C",
    game text NOT NULL COLLATE pg_catalog."C",
    head text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    raw bytea NOT NULL,
    dns bytea NOT NULL,
    salt text NOT NULL COLLATE pg_catalog."C",
    nonce text NOT NULL COLLATE pg_catalog."C",
    purpose text NOT NULL COLLATE pg_catalog."C",
    about text NOT NULL COLLATE pg_catalog."C",
    grade text NOT NULL COLLATE pg_catalog."C",
    reader integer NOT NULL
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
    ended text COLLATE pg_catalog."C",
    agreement text NOT NULL COLLATE pg_catalog."C",
    deadline text COLLATE pg_catalog."C",
    look_at text COLLATE pg_catalog."C",
    link text COLLATE pg_catalog."C",
    way text DEFAULT 'http'::text NOT NULL COLLATE pg_catalog."C",
    by_mail text DEFAULT '{}'::text NOT NULL COLLATE pg_catalog."C"
);


--
-- Name: held_key; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.held_key (
    key text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    private text NOT NULL COLLATE pg_catalog."C"
);


--
-- Name: imap_place; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.imap_place (
    mailbox text NOT NULL COLLATE pg_catalog."C",
    validity bigint NOT NULL,
    last bigint NOT NULL
);


--
-- Name: incoming; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.incoming (
    number integer NOT NULL,
    digest text NOT NULL COLLATE pg_catalog."C",
    via text NOT NULL COLLATE pg_catalog."C",
    raw bytea NOT NULL,
    received text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    channel text NOT NULL COLLATE pg_catalog."C",
    game text NOT NULL COLLATE pg_catalog."C",
    message_id text NOT NULL COLLATE pg_catalog."C",
    reply text COLLATE pg_catalog."C",
    signed text COLLATE pg_catalog."C",
    state text NOT NULL COLLATE pg_catalog."C",
    tries integer NOT NULL,
    tried text COLLATE pg_catalog."C",
    result text NOT NULL COLLATE pg_catalog."C"
);


--
-- Name: letter_count; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.letter_count (
    hour text NOT NULL COLLATE pg_catalog."C",
    channel text NOT NULL COLLATE pg_catalog."C",
    letters integer NOT NULL
);


--
-- Name: mail_invitation; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.mail_invitation (
    player text NOT NULL COLLATE pg_catalog."C",
    at text NOT NULL COLLATE pg_catalog."C",
    address text NOT NULL COLLATE pg_catalog."C",
    answered text COLLATE pg_catalog."C"
);


--
-- Name: mailbox; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.mailbox (
    channel text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    address text NOT NULL COLLATE pg_catalog."C",
    held_key text NOT NULL COLLATE pg_catalog."C",
    lang text NOT NULL COLLATE pg_catalog."C",
    state text NOT NULL COLLATE pg_catalog."C",
    since text NOT NULL COLLATE pg_catalog."C",
    orders boolean NOT NULL,
    cards boolean NOT NULL,
    dkim_seen integer NOT NULL,
    counter integer NOT NULL,
    paused text COLLATE pg_catalog."C",
    heard text COLLATE pg_catalog."C",
    confirm text COLLATE pg_catalog."C",
    invited text COLLATE pg_catalog."C",
    invited_by text COLLATE pg_catalog."C",
    zone text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C"
);


--
-- Name: offer; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.offer (
    player text NOT NULL COLLATE pg_catalog."C",
    at text NOT NULL COLLATE pg_catalog."C",
    game text NOT NULL COLLATE pg_catalog."C"
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
-- Name: outage; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.outage (
    way text NOT NULL COLLATE pg_catalog."C",
    "from" text NOT NULL COLLATE pg_catalog."C",
    until text NOT NULL COLLATE pg_catalog."C",
    number integer NOT NULL
);


--
-- Name: outbox; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.outbox (
    game text NOT NULL COLLATE pg_catalog."C",
    seq integer NOT NULL,
    event text NOT NULL COLLATE pg_catalog."C",
    channel text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    due text NOT NULL COLLATE pg_catalog."C",
    not_before text NOT NULL COLLATE pg_catalog."C",
    tries integer NOT NULL
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
-- Name: probe; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.probe (
    digest text NOT NULL COLLATE pg_catalog."C",
    since text NOT NULL COLLATE pg_catalog."C",
    recipient text COLLATE pg_catalog."C",
    raw bytea
);


--
-- Name: reply; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.reply (
    digest text NOT NULL COLLATE pg_catalog."C",
    channel text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    game text NOT NULL COLLATE pg_catalog."C",
    seq text NOT NULL COLLATE pg_catalog."C",
    purpose text NOT NULL COLLATE pg_catalog."C",
    about text NOT NULL COLLATE pg_catalog."C",
    made text NOT NULL COLLATE pg_catalog."C",
    expires text COLLATE pg_catalog."C",
    spent text COLLATE pg_catalog."C",
    answers text NOT NULL COLLATE pg_catalog."C"
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
    origin text NOT NULL COLLATE pg_catalog."C",
    mail_secret text COLLATE pg_catalog."C"
);


--
-- Name: setting; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.setting (
    player text NOT NULL COLLATE pg_catalog."C",
    json text NOT NULL COLLATE pg_catalog."C"
);


--
-- Name: statement; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.statement (
    game text NOT NULL COLLATE pg_catalog."C",
    head text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    seconds integer,
    sig text NOT NULL COLLATE pg_catalog."C",
    at text NOT NULL COLLATE pg_catalog."C",
    mail text COLLATE pg_catalog."C"
);


--
-- Name: talk; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.talk (
    game text NOT NULL COLLATE pg_catalog."C",
    number integer NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    text text COLLATE pg_catalog."C",
    sig text COLLATE pg_catalog."C",
    at text NOT NULL COLLATE pg_catalog."C"
);


--
-- Name: token; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.token (
    digest text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    expires text NOT NULL COLLATE pg_catalog."C"
);


--
-- Data for Name: alembic_version; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.alembic_version VALUES ('0020');


--
-- Data for Name: beat; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.beat VALUES ('http', '2026-11-20T12:00:00Z', '0.9.0');


--
-- Data for Name: block; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.block VALUES ('bob', 'carol');


--
-- Data for Name: bounce; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.bounce VALUES ('b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1', 'ch2', '2026-11-20T12:00:00Z');


--
-- Data for Name: certificate; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.certificate VALUES ('{"at":"2026-11-20T12:00:00Z"}', 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIqHX/8es4RRV3rNWv7kBUVlaN18ieCQhjoFV7x69J8X', 'dave@example.org', '5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a');


--
-- Data for Name: challenge; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.challenge VALUES ('d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0', '2026-12-20T12:00:00Z');


--
-- Data for Name: channel; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.channel VALUES ('ch1', 'bob', 'webhook', 'https://b.example', ' turn over ', '{}', '2026-11-20T12:00:00Z', '2026-11-20T12:00:00Z', NULL, 2, NULL);
INSERT INTO public.channel VALUES ('ch2', 'dave', 'mail', 'Dave@example.org', ' turn remind1 remind2 over invited joined declined given annul ', '{}', '2026-11-20T12:00:00Z', '2026-11-20T12:00:00Z', NULL, 0, NULL);


--
-- Data for Name: code; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.code VALUES ('c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0', NULL, '2026-12-20T12:00:00Z', 3);
INSERT INTO public.code VALUES ('c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1', 'carol', '2026-12-20T12:00:00Z', 1);


--
-- Data for Name: draft; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.draft VALUES ('a2e81478007152dea8651f3fce597961', 'b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0', 'dave', '{}', 'eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee');


--
-- Data for Name: entry; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.entry VALUES ('a2e81478007152dea8651f3fce597961', 0, '{"at":"2026-11-20T12:00:00Z","body":{"agreement":{"clock":null,"expires":null,"rated":false,"rematch":null,"series":null},"dealer":{"name":"server/v1","seed_commit":"71c1d2e5c715ec5c9acb0ed27f29e65382238cf5e42da869008e40ccc2fcf8a0"},"requires":[],"ruleset":{"first":"host","max_rounds":0,"name":"hanamikoji","tiebreak":"geisha","version":1},"server_key":"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAICII6EZKt89j3AmrzLBjuowbA1w+gxomcEiTMzGY6wpY"},"by":"server","game":"a2e81478007152dea8651f3fce597961","kind":"offer","prev":"0000000000000000000000000000000000000000000000000000000000000000","seen":null,"seq":0,"v":1}', '\x53534853494700000001000000330000000b7373682d65643235353139000000202208e8464ab7cf63dc09abccb063ba8c1b035c3e831a26704893333198eb0a580000000f686b6f6a692e7365727665722e76310000000000000006736861353132000000530000000b7373682d656432353531390000004022cc2985f48ef955c1623ddc488e18f807c4ef0e915714b2ab3799bf770c101e6e61902b7c72e14f904ba91e370120eed293184fdca6ded0aeb09a1d1b8ff00c', '{"at":"2026-11-20T12:00:00Z","game":"a2e81478007152dea8651f3fce597961","head":"750bf855a2daac1c9bdb32a8d0b29a2a6057e8e95115e698b0b3c0039cacc91e","seq":0,"v":1}', '\x53534853494700000001000000330000000b7373682d65643235353139000000202208e8464ab7cf63dc09abccb063ba8c1b035c3e831a26704893333198eb0a5800000010686b6f6a692e726563656970742e76310000000000000006736861353132000000530000000b7373682d65643235353139000000403a4928e8691e849d28e8f208bee3e72176765c9c363efec4d446d2976daa55947fafce68ed0522382d6c76fe4bc127c17f4fac8b72b918b5d05bf096edf7e604');
INSERT INTO public.entry VALUES ('a2e81478007152dea8651f3fce597961', 1, '{"at":"2026-11-20T12:00:00Z","body":{"entropy_commit":"9561f5937b2723c348f47150518b2abee1bd47e9ab8d81dd7515594433d602a0","invite":null,"key":"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKylNq5mrmtc+gil0dTPYraWuHzaR9wAtfMCzQGL2lkL"},"by":"alice","game":"a2e81478007152dea8651f3fce597961","kind":"open","prev":"750bf855a2daac1c9bdb32a8d0b29a2a6057e8e95115e698b0b3c0039cacc91e","seen":"2026-11-20T12:00:00Z","seq":1,"v":1}', '\x53534853494700000001000000330000000b7373682d6564323535313900000020aca536ae66ae6b5cfa08a5d1d4cf62b696b87cda47dc00b5f302cd018bda590b0000000e686b6f6a692e656e7472792e76310000000000000006736861353132000000530000000b7373682d6564323535313900000040a56bd017c47ca00e3c9b1d0653ae172f725bf6ad80677709a4ca3446abc122aedc239494192f2704166bb1f297bc2dd694201193025fbbe7d697973aab18290c', '{"at":"2026-11-20T12:00:00Z","game":"a2e81478007152dea8651f3fce597961","head":"2f6751b730fde60a4c91b932dc4a134400329808f59476b1b08e9393aa6fd662","seq":1,"v":1}', '\x53534853494700000001000000330000000b7373682d65643235353139000000202208e8464ab7cf63dc09abccb063ba8c1b035c3e831a26704893333198eb0a5800000010686b6f6a692e726563656970742e76310000000000000006736861353132000000530000000b7373682d656432353531390000004083c09b6ea44b269e93aef7b149e5e1de78c9728d098fbae7e4e37bbbf54b508a10ab5bb2076b18029396e8f38ebddd3e8c852831c8f8209f3ac912da05d99c00');
INSERT INTO public.entry VALUES ('a2e81478007152dea8651f3fce597961', 2, '{"at":"2026-11-20T12:00:00Z","body":{"entropy_commit":"d6b1dff11336ca9d53a956616aced9ab0ce0bf30aa163cb321786971943a8d24","key":"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIqd0r4DiTJun8lq/tTrvG00s9pM4LDc+CsT6wCZmElb"},"by":"bob","game":"a2e81478007152dea8651f3fce597961","kind":"join","prev":"2f6751b730fde60a4c91b932dc4a134400329808f59476b1b08e9393aa6fd662","seen":"2026-11-20T12:00:00Z","seq":2,"v":1}', '\x53534853494700000001000000330000000b7373682d65643235353139000000208a9dd2be0389326e9fc96afed4ebbc6d34b3da4ce0b0dcf82b13eb009998495b0000000e686b6f6a692e656e7472792e76310000000000000006736861353132000000530000000b7373682d656432353531390000004019615f1afbd158dd7658861720d34e19e9af172a143a23e69128976e19e127d6b1e42f9b760e28c171d5cabab81f14084d49f323ab8183d8eb5c080e09c38601', '{"at":"2026-11-20T12:00:00Z","game":"a2e81478007152dea8651f3fce597961","head":"4eb6b74f34afb443cf21edd814a91905791aa5b94242b57f953699b0334278b9","seq":2,"v":1}', '\x53534853494700000001000000330000000b7373682d65643235353139000000202208e8464ab7cf63dc09abccb063ba8c1b035c3e831a26704893333198eb0a5800000010686b6f6a692e726563656970742e76310000000000000006736861353132000000530000000b7373682d65643235353139000000404fdd5b1ff8e541d0629b4d8f470aa33308031a75715f557bc585e982606b06a3ef24f0a4c2ad7ab95eaa3df12bdf92720bed018fb86fab2e8890fef3dcbcfc03');
INSERT INTO public.entry VALUES ('a2e81478007152dea8651f3fce597961', 3, '{"at":"2026-11-20T12:00:00Z","body":{"entropy":"57d311cc481e6a12ea4286231c69309e4b5e119e7ec0e071665c6f207889da21"},"by":"bob","game":"a2e81478007152dea8651f3fce597961","kind":"seed","prev":"4eb6b74f34afb443cf21edd814a91905791aa5b94242b57f953699b0334278b9","seen":"2026-11-20T12:00:00Z","seq":3,"v":1}', '\x53534853494700000001000000330000000b7373682d65643235353139000000208a9dd2be0389326e9fc96afed4ebbc6d34b3da4ce0b0dcf82b13eb009998495b0000000e686b6f6a692e656e7472792e76310000000000000006736861353132000000530000000b7373682d65643235353139000000406e1bea5f7c86d8ce5a4e2eebcfc15ee88b9115ea54f88725f25d1cf01fe49cb6ffeb452d4058a77908a41ff5a4df65e7ab4a9ef8330bf2bf38ae4a754a12500f', '{"at":"2026-11-20T12:00:00Z","game":"a2e81478007152dea8651f3fce597961","head":"ee67477f2401b72d72152b5da074538b045d581726d15e66734b29cb4c6aab0b","seq":3,"v":1}', '\x53534853494700000001000000330000000b7373682d65643235353139000000202208e8464ab7cf63dc09abccb063ba8c1b035c3e831a26704893333198eb0a5800000010686b6f6a692e726563656970742e76310000000000000006736861353132000000530000000b7373682d6564323535313900000040a57f1e3464097d89e0c871be67c8e9fe564b1a3590d1a088a1a9167c2e697c9a7e8d210c4c44796918e893ace6477af01be65128853d67bf008e137022a54d09');
INSERT INTO public.entry VALUES ('a2e81478007152dea8651f3fce597961', 4, '{"at":"2026-11-20T12:00:00Z","body":{"entropy":"1d288c47b1829c2e219c95ea9dcc11de459506c4f129b2635ed2db28768b0dc3"},"by":"alice","game":"a2e81478007152dea8651f3fce597961","kind":"seed","prev":"ee67477f2401b72d72152b5da074538b045d581726d15e66734b29cb4c6aab0b","seen":"2026-11-20T12:00:00Z","seq":4,"v":1}', '\x53534853494700000001000000330000000b7373682d6564323535313900000020aca536ae66ae6b5cfa08a5d1d4cf62b696b87cda47dc00b5f302cd018bda590b0000000e686b6f6a692e656e7472792e76310000000000000006736861353132000000530000000b7373682d6564323535313900000040f4f461e50aa8321310393500840b83f10e6f0d8f0425af50818aee0f911463ee67b13158e3da4d137770382cfdd42f98db57bdb22f52aa4d911d4510252e080e', '{"at":"2026-11-20T12:00:00Z","game":"a2e81478007152dea8651f3fce597961","head":"1f9a9b4f31f20ac5f794f4a9f276c3ed63a7df741c2e8aac613eb9c965bd6fa4","seq":4,"v":1}', '\x53534853494700000001000000330000000b7373682d65643235353139000000202208e8464ab7cf63dc09abccb063ba8c1b035c3e831a26704893333198eb0a5800000010686b6f6a692e726563656970742e76310000000000000006736861353132000000530000000b7373682d656432353531390000004005886816c034aba471fa9a1bc971ae88f34c4a3f49d3c0471230424ff7ecfff449a6aceb05a118d2a964587694bbe74c43b65e1561d9bd272f2f590bb7d2ea0e');
INSERT INTO public.entry VALUES ('a2e81478007152dea8651f3fce597961', 5, '{"at":"2026-11-20T12:00:00Z","body":{"action":"1X","commit":["16f304beaa8db7bcbbe8cf86307a9fe52ed12f22d8006a4fe88de2bc88755aaf"]},"by":"alice","game":"a2e81478007152dea8651f3fce597961","kind":"move","prev":"1f9a9b4f31f20ac5f794f4a9f276c3ed63a7df741c2e8aac613eb9c965bd6fa4","seen":"2026-11-20T12:00:00Z","seq":5,"v":1}', '\x53534853494700000001000000330000000b7373682d6564323535313900000020aca536ae66ae6b5cfa08a5d1d4cf62b696b87cda47dc00b5f302cd018bda590b0000000e686b6f6a692e656e7472792e76310000000000000006736861353132000000530000000b7373682d65643235353139000000406deb599f063b3149ded5d5162cce929de4517779fef5e19dbb452816d5b92d6cd635e5efd75ec01f391165e3a88eb359cfb61edca8cf56c528803faf0376980d', '{"at":"2026-11-20T12:00:00Z","game":"a2e81478007152dea8651f3fce597961","head":"3ba3a4e1b62d15ec6f99a1a0b5cc6390bd98b90ef837302096eaa1cd10ca511a","seq":5,"v":1}', '\x53534853494700000001000000330000000b7373682d65643235353139000000202208e8464ab7cf63dc09abccb063ba8c1b035c3e831a26704893333198eb0a5800000010686b6f6a692e726563656970742e76310000000000000006736861353132000000530000000b7373682d65643235353139000000402c56b099e11e31842450d1a151025d16020b3d3413765c019535632d7f1c54b1f4d30c7e08428e6f6bbc39891ec45a4e608c1c923d1430c563ba7db6cad9d209');
INSERT INTO public.entry VALUES ('a2e81478007152dea8651f3fce597961', 6, '{"at":"2026-11-20T12:00:00Z","body":{"action":"3CEE"},"by":"bob","game":"a2e81478007152dea8651f3fce597961","kind":"move","prev":"3ba3a4e1b62d15ec6f99a1a0b5cc6390bd98b90ef837302096eaa1cd10ca511a","seen":"2026-11-20T12:00:00Z","seq":6,"v":1}', '\x53534853494700000001000000330000000b7373682d65643235353139000000208a9dd2be0389326e9fc96afed4ebbc6d34b3da4ce0b0dcf82b13eb009998495b0000000e686b6f6a692e656e7472792e76310000000000000006736861353132000000530000000b7373682d65643235353139000000407a7388fd0039f84fdf48ba96b48e09308c6690f45c8a2acb705f87b3d89726d13766798e435700222da7662f9d39005223b9b2d7eb34f60be938a212cb96140d', '{"at":"2026-11-20T12:00:00Z","game":"a2e81478007152dea8651f3fce597961","head":"6eb08660b571a5414461448f5b5eba45d6e0643c11f2ea716d55a13a84c458bf","seq":6,"v":1}', '\x53534853494700000001000000330000000b7373682d65643235353139000000202208e8464ab7cf63dc09abccb063ba8c1b035c3e831a26704893333198eb0a5800000010686b6f6a692e726563656970742e76310000000000000006736861353132000000530000000b7373682d6564323535313900000040d52eb6e5369b791d8fabdbaf04e8ddecf90f46abf4d83769133394290256e72dd81e781c514b9e83b6a79d9a2f3d6054a511dbe7d361cfe8c70128e8826ae604');
INSERT INTO public.entry VALUES ('a2e81478007152dea8651f3fce597961', 7, '{"at":"2026-11-20T12:00:00Z","body":{"action":"-C"},"by":"alice","game":"a2e81478007152dea8651f3fce597961","kind":"move","prev":"6eb08660b571a5414461448f5b5eba45d6e0643c11f2ea716d55a13a84c458bf","seen":"2026-11-20T12:00:00Z","seq":7,"v":1}', '\x53534853494700000001000000330000000b7373682d6564323535313900000020aca536ae66ae6b5cfa08a5d1d4cf62b696b87cda47dc00b5f302cd018bda590b0000000e686b6f6a692e656e7472792e76310000000000000006736861353132000000530000000b7373682d656432353531390000004074df95a2a275f9265b59e59c2c1cc0bc392a2c34295d7311db75b8098a2fadd0096d0a6ea0a22ca16cc88f72460589fcad239cf037f93ecceb4a64c93a3eea05', '{"at":"2026-11-20T12:00:00Z","game":"a2e81478007152dea8651f3fce597961","head":"52ca623664b67e88dd3a833467fd7aafd28e74f6613417c36d4f81582b144907","seq":7,"v":1}', '\x53534853494700000001000000330000000b7373682d65643235353139000000202208e8464ab7cf63dc09abccb063ba8c1b035c3e831a26704893333198eb0a5800000010686b6f6a692e726563656970742e76310000000000000006736861353132000000530000000b7373682d6564323535313900000040b299389989894529b1b8f5ee5d38577cfda5959d82a395571be4373901604e32fa51b00e61fe925770e516631258167852ea8bbb429b3f762bb336917f495e04');
INSERT INTO public.entry VALUES ('a2e81478007152dea8651f3fce597961', 8, '{"at":"2026-11-20T12:00:00Z","body":{"action":"4BEFF"},"by":"alice","game":"a2e81478007152dea8651f3fce597961","kind":"move","prev":"52ca623664b67e88dd3a833467fd7aafd28e74f6613417c36d4f81582b144907","seen":"2026-11-20T12:00:00Z","seq":8,"v":1}', '\x53534853494700000001000000330000000b7373682d6564323535313900000020aca536ae66ae6b5cfa08a5d1d4cf62b696b87cda47dc00b5f302cd018bda590b0000000e686b6f6a692e656e7472792e76310000000000000006736861353132000000530000000b7373682d656432353531390000004007f6d5779913f2dd39fc547b08ee34b84fc0a0ef21427437793f9387e79d1a66cbf02fe678c96a4b5ffd131378e3310eca21e786acb4a231f59fb2ee03f4fd0e', '{"at":"2026-11-20T12:00:00Z","game":"a2e81478007152dea8651f3fce597961","head":"b1107009315e2055224f17fbe5b3bab852c3f8278bde0726bab0443d4b11e63c","seq":8,"v":1}', '\x53534853494700000001000000330000000b7373682d65643235353139000000202208e8464ab7cf63dc09abccb063ba8c1b035c3e831a26704893333198eb0a5800000010686b6f6a692e726563656970742e76310000000000000006736861353132000000530000000b7373682d65643235353139000000402b8a10e3c569612191eb759bc7a66750ca8e90aa83f53b17d7270c9b9a7b456dac4d9238c2afe957cc12995bfc539b84e84afdcfd1d6b82f4f23df1d4b71c200');


--
-- Data for Name: evidence; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.evidence VALUES ('f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0', 'a2e81478007152dea8651f3fce597961', 'b1107009315e2055224f17fbe5b3bab852c3f8278bde0726bab0443d4b11e63c', 'dave', '\x46726f6d3a20640d0a0d0aff', '\x', '5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b', '5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c', 'turn', '', 'token', 1);


--
-- Data for Name: game; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.game VALUES ('a2e81478007152dea8651f3fce597961', '{}', 'playing', 'alice', 'bob', NULL, 8, 'b1107009315e2055224f17fbe5b3bab852c3f8278bde0726bab0443d4b11e63c', 0, NULL, NULL, '2026-11-20T12:00:00Z', '2026-11-20T12:00:00Z', NULL, NULL, NULL, '{}', '2026-11-23T12:00:00Z', '2026-11-22T12:00:00Z', NULL, 'http', '{"bob":"word"}');


--
-- Data for Name: held_key; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.held_key VALUES ('ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIqHX/8es4RRV3rNWv7kBUVlaN18ieCQhjoFV7x69J8X', 'dave', 'private key');


--
-- Data for Name: imap_place; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.imap_place VALUES ('INBOX', 4294967295, 17);


--
-- Data for Name: incoming; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.incoming VALUES (1, 'b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0', 'lmtp', '\x5375626a6563743a20e90d0a0d0a706c617920310d0a', '2026-11-20T12:00:00Z', 'dave', 'ch2', 'a2e81478007152dea8651f3fce597961', '<1@example.org>', 'a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0', NULL, 'new', 1, '2026-11-20T12:00:00Z', '');


--
-- Data for Name: letter_count; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.letter_count VALUES ('2026-11-20T12', 'ch2', 2);


--
-- Data for Name: mail_invitation; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.mail_invitation VALUES ('alice', '2026-11-20T12:00:00Z', 'dave@example.org', '2026-11-20T12:00:00Z');


--
-- Data for Name: mailbox; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.mailbox VALUES ('ch2', 'dave', 'dave@example.org', 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIqHX/8es4RRV3rNWv7kBUVlaN18ieCQhjoFV7x69J8X', 'it', 'active', '2026-11-20T12:00:00Z', true, false, 3, 2, NULL, '2026-11-20T12:00:00Z', NULL, NULL, NULL, '+01:00');


--
-- Data for Name: offer; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.offer VALUES ('alice', '2026-11-20T12:00:00Z', 'a2e81478007152dea8651f3fce597961');


--
-- Data for Name: opening; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.opening VALUES ('a2e81478007152dea8651f3fce597961', 1, 0, '0123456', 'abababababababababababababababab');


--
-- Data for Name: outage; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.outage VALUES ('http', '2026-11-18T00:00:00Z', '2026-11-18T01:00:00Z', 1);


--
-- Data for Name: outbox; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.outbox VALUES ('a2e81478007152dea8651f3fce597961', 4, 'turn', 'ch1', 'webhook', '2026-11-20T12:00:00Z', '2026-11-20T12:00:00Z', 1);


--
-- Data for Name: player; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.player VALUES ('alice', 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIMqTrBcFGHBx1nuDx/8O/oEI6OxFMFdddyaHkzPb2r58', '2026-11-20T12:00:00Z', 'new key', 'c2ln');
INSERT INTO public.player VALUES ('bob', 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIE5dw6ofRdfVqNUZsNMfszLjYqRtO43ol32D1uPybOU', '2026-11-20T12:00:00Z', '{"name":"bob"}', 'c2ln');
INSERT INTO public.player VALUES ('carol', 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIO1JKMYo0cLG6ukDOJBZlWEpWSc6XGP5NjbBRhSshzfR', '2026-11-20T12:00:00Z', '{"name":"carol"}', 'c2ln');
INSERT INTO public.player VALUES ('dave', 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIqHX/8es4RRV3rNWv7kBUVlaN18ieCQhjoFV7x69J8X', '2026-11-20T12:00:00Z', 'registration', 'c2ln');


--
-- Data for Name: probe; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.probe VALUES ('b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2', '2026-11-20T12:00:00Z', NULL, NULL);


--
-- Data for Name: reply; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.reply VALUES ('a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0', 'ch2', 'dave', 'a2e81478007152dea8651f3fce597961', '4', 'turn', '', '2026-11-20T12:00:00Z', NULL, NULL, '{}');


--
-- Data for Name: retired; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.retired VALUES ('ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIqI4910CfGV/VLbLTy6XXLKZwm/HZQSG/N0iAG0D29c', 'alice', '2026-11-20T12:00:00Z', false, 'new key', 'b2xk', 'bmV3');
INSERT INTO public.retired VALUES ('ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIO1JKMYo0cLG6ukDOJBZlWEpWSc6XGP5NjbBRhSshzfR', 'carol', '2026-11-20T12:00:00Z', true, NULL, NULL, NULL);


--
-- Data for Name: secret; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.secret VALUES ('a2e81478007152dea8651f3fce597961', '5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e', 'alice');


--
-- Data for Name: service; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.service VALUES (1, '-----BEGIN OPENSSH PRIVATE KEY-----
b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtz
c2gtZWQyNTUxOQAAACD9FyQ4WqDHW2T7eM1gL6HZkf3r92sTxY7XAurINen2GAAA
AIgwxFcpMMRXKQAAAAtzc2gtZWQyNTUxOQAAACD9FyQ4WqDHW2T7eM1gL6HZkf3r
92sTxY7XAurINen2GAAAAEAJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJ
Cf0XJDhaoMdbZPt4zWAvodmR/ev3axPFjtcC6sg16fYYAAAAAAECAwQF
-----END OPENSSH PRIVATE KEY-----
', 'https://hkoji.example', '5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e');


--
-- Data for Name: setting; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.setting VALUES ('bob', '{"theme":"dark"}');


--
-- Data for Name: statement; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.statement VALUES ('a2e81478007152dea8651f3fce597961', 'b1107009315e2055224f17fbe5b3bab852c3f8278bde0726bab0443d4b11e63c', 'give', 'alice', 3600, 'c2ln', '2026-11-20T12:00:00Z', NULL);


--
-- Data for Name: talk; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.talk VALUES ('a2e81478007152dea8651f3fce597961', 1, 'alice', 'good luck', 'c2ln', '2026-11-20T12:00:00Z');
INSERT INTO public.talk VALUES ('a2e81478007152dea8651f3fce597961', 2, 'bob', NULL, NULL, '2026-11-20T12:00:00Z');


--
-- Data for Name: token; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.token VALUES ('e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0', 'bob', '2026-12-20T12:00:00Z');


--
-- Name: alembic_version alembic_version_pkc; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.alembic_version
    ADD CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num);


--
-- Name: beat beat_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.beat
    ADD CONSTRAINT beat_pkey PRIMARY KEY (way);


--
-- Name: block block_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.block
    ADD CONSTRAINT block_pkey PRIMARY KEY (player, other);


--
-- Name: bounce bounce_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.bounce
    ADD CONSTRAINT bounce_pkey PRIMARY KEY (digest);


--
-- Name: certificate certificate_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.certificate
    ADD CONSTRAINT certificate_pkey PRIMARY KEY (text);


--
-- Name: challenge challenge_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.challenge
    ADD CONSTRAINT challenge_pkey PRIMARY KEY (digest);


--
-- Name: channel channel_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.channel
    ADD CONSTRAINT channel_pkey PRIMARY KEY (id);


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
-- Name: draft draft_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.draft
    ADD CONSTRAINT draft_pkey PRIMARY KEY (game, source);


--
-- Name: entry entry_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.entry
    ADD CONSTRAINT entry_pkey PRIMARY KEY (game, seq);


--
-- Name: evidence evidence_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.evidence
    ADD CONSTRAINT evidence_pkey PRIMARY KEY (commit);


--
-- Name: game game_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.game
    ADD CONSTRAINT game_pkey PRIMARY KEY (game);


--
-- Name: held_key held_key_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.held_key
    ADD CONSTRAINT held_key_pkey PRIMARY KEY (key);


--
-- Name: imap_place imap_place_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.imap_place
    ADD CONSTRAINT imap_place_pkey PRIMARY KEY (mailbox);


--
-- Name: incoming incoming_digest_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.incoming
    ADD CONSTRAINT incoming_digest_key UNIQUE (digest);


--
-- Name: incoming incoming_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.incoming
    ADD CONSTRAINT incoming_pkey PRIMARY KEY (number);


--
-- Name: letter_count letter_count_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.letter_count
    ADD CONSTRAINT letter_count_pkey PRIMARY KEY (hour, channel);


--
-- Name: mail_invitation mail_invitation_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.mail_invitation
    ADD CONSTRAINT mail_invitation_pkey PRIMARY KEY (player, at, address);


--
-- Name: mailbox mailbox_address_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.mailbox
    ADD CONSTRAINT mailbox_address_key UNIQUE (address);


--
-- Name: mailbox mailbox_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.mailbox
    ADD CONSTRAINT mailbox_pkey PRIMARY KEY (channel);


--
-- Name: offer offer_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.offer
    ADD CONSTRAINT offer_pkey PRIMARY KEY (player, at, game);


--
-- Name: opening opening_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.opening
    ADD CONSTRAINT opening_pkey PRIMARY KEY (game, seq, part);


--
-- Name: outage outage_number_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.outage
    ADD CONSTRAINT outage_number_key UNIQUE (number);


--
-- Name: outage outage_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.outage
    ADD CONSTRAINT outage_pkey PRIMARY KEY (way, "from");


--
-- Name: outbox outbox_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.outbox
    ADD CONSTRAINT outbox_pkey PRIMARY KEY (game, seq, event, channel);


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
-- Name: probe probe_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.probe
    ADD CONSTRAINT probe_pkey PRIMARY KEY (digest);


--
-- Name: reply reply_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.reply
    ADD CONSTRAINT reply_pkey PRIMARY KEY (digest);


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
-- Name: setting setting_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.setting
    ADD CONSTRAINT setting_pkey PRIMARY KEY (player);


--
-- Name: statement statement_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.statement
    ADD CONSTRAINT statement_pkey PRIMARY KEY (game, head, kind, name);


--
-- Name: talk talk_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.talk
    ADD CONSTRAINT talk_pkey PRIMARY KEY (game, number);


--
-- Name: token token_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.token
    ADD CONSTRAINT token_pkey PRIMARY KEY (digest);


--
-- Name: draft_entropy; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX draft_entropy ON public.draft USING btree (game) WHERE (entropy IS NOT NULL);


--
-- Name: evidence_name; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX evidence_name ON public.evidence USING btree (name, game);


--
-- Name: game_ended; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX game_ended ON public.game USING btree (ended, game) WHERE (ended IS NOT NULL);


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
-- Name: game_look; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX game_look ON public.game USING btree (way, look_at) WHERE (look_at IS NOT NULL);


--
-- Name: game_offered; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX game_offered ON public.game USING btree (created) WHERE (status = 'offered'::text);


--
-- Name: game_pair; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX game_pair ON public.game USING btree (host, guest) WHERE (status = 'finished'::text);


--
-- Name: game_shown; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX game_shown ON public.game USING btree (created) WHERE ((status <> 'offered'::text) AND (link IS NULL));


--
-- Name: game_status; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX game_status ON public.game USING btree (status, created) WHERE ((status <> 'offered'::text) AND (link IS NULL));


--
-- Name: game_waiting; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX game_waiting ON public.game USING btree (to_move, created) WHERE ((to_move IS NOT NULL) AND (status = 'playing'::text));


--
-- Name: incoming_failed; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX incoming_failed ON public.incoming USING btree (number) WHERE (state = 'failed'::text);


--
-- Name: incoming_message; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX incoming_message ON public.incoming USING btree (name, message_id) WHERE (message_id <> ''::text);


--
-- Name: incoming_new; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX incoming_new ON public.incoming USING btree (name, number) WHERE (state = 'new'::text);


--
-- Name: incoming_oldest; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX incoming_oldest ON public.incoming USING btree (received) WHERE (state = 'new'::text);


--
-- Name: incoming_signed; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX incoming_signed ON public.incoming USING btree (name, signed) WHERE (signed IS NOT NULL);


--
-- Name: ix_bounce_at; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_bounce_at ON public.bounce USING btree (at);


--
-- Name: ix_bounce_channel; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_bounce_channel ON public.bounce USING btree (channel);


--
-- Name: ix_certificate_key; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_certificate_key ON public.certificate USING btree (key);


--
-- Name: ix_certificate_mailbox; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_certificate_mailbox ON public.certificate USING btree (mailbox);


--
-- Name: ix_challenge_expires; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_challenge_expires ON public.challenge USING btree (expires);


--
-- Name: ix_channel_player; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_channel_player ON public.channel USING btree (player);


--
-- Name: ix_code_expires; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_code_expires ON public.code USING btree (expires);


--
-- Name: ix_incoming_channel; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_incoming_channel ON public.incoming USING btree (channel);


--
-- Name: ix_incoming_received; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_incoming_received ON public.incoming USING btree (received);


--
-- Name: ix_mailbox_held_key; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_mailbox_held_key ON public.mailbox USING btree (held_key);


--
-- Name: ix_mailbox_name; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_mailbox_name ON public.mailbox USING btree (name);


--
-- Name: ix_reply_channel; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_reply_channel ON public.reply USING btree (channel);


--
-- Name: ix_reply_expires; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_reply_expires ON public.reply USING btree (expires);


--
-- Name: ix_reply_spent; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_reply_spent ON public.reply USING btree (spent);


--
-- Name: ix_token_expires; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_token_expires ON public.token USING btree (expires);


--
-- Name: ix_token_name; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_token_name ON public.token USING btree (name);


--
-- Name: mail_invitation_address; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX mail_invitation_address ON public.mail_invitation USING btree (address, at);


--
-- Name: mail_invitation_at; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX mail_invitation_at ON public.mail_invitation USING btree (at);


--
-- Name: outbox_channel; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX outbox_channel ON public.outbox USING btree (channel);


--
-- Name: outbox_due; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX outbox_due ON public.outbox USING btree (kind, not_before);


--
-- Name: retired_name; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX retired_name ON public.retired USING btree (name, at);


--
-- Name: talk_first; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX talk_first ON public.talk USING btree (at, game) WHERE (number = 1);


--
-- Name: block block_other_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.block
    ADD CONSTRAINT block_other_fkey FOREIGN KEY (other) REFERENCES public.player(name);


--
-- Name: block block_player_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.block
    ADD CONSTRAINT block_player_fkey FOREIGN KEY (player) REFERENCES public.player(name);


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
-- Name: setting setting_player_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.setting
    ADD CONSTRAINT setting_player_fkey FOREIGN KEY (player) REFERENCES public.player(name);


--
-- Name: statement statement_game_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.statement
    ADD CONSTRAINT statement_game_fkey FOREIGN KEY (game) REFERENCES public.game(game);


--
-- Name: talk talk_game_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.talk
    ADD CONSTRAINT talk_game_fkey FOREIGN KEY (game) REFERENCES public.game(game);


--
-- PostgreSQL database dump complete
--


