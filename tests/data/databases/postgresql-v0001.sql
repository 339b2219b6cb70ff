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
    winner integer
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

INSERT INTO public.alembic_version VALUES ('0001');


--
-- Data for Name: challenge; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: entry; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.entry VALUES ('9530ac1edbe1c9128a57c9c16a7380b0', 0, '{"at":"2026-11-20T12:00:00Z","body":{"dealer":{"name":"server/v1","seed_commit":"70357ab4505fe37761b8238b9a918a4dc5aa4893c373bc8ed551dd5907217f01"},"requires":[],"ruleset":{"first":"host","max_rounds":0,"name":"hanamikoji","tiebreak":"geisha","version":1},"server_key":"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAICMaW19WiT+mVTkCarp/nSM8MSzd4FzqYfuiEKgDBXVc"},"by":"server","game":"9530ac1edbe1c9128a57c9c16a7380b0","kind":"offer","prev":"0000000000000000000000000000000000000000000000000000000000000000","seq":0,"v":1}', '\x53534853494700000001000000330000000b7373682d6564323535313900000020231a5b5f56893fa65539026aba7f9d233c312cdde05cea61fba210a80305755c0000000f686b6f6a692e7365727665722e76310000000000000006736861353132000000530000000b7373682d656432353531390000004024e14b45a0dfc3c642f874c2390bded7c5ad20e151e4cefd6e79f96b658d64f769d5caafbdfc320c658b992b21daa9aa99f1dd00c064e372ea4dc44239b6d60e', '{"at":"2026-11-20T12:00:00Z","game":"9530ac1edbe1c9128a57c9c16a7380b0","head":"b0b9694f06f019878f53f77a169ae933a1278ed64bd3d8dbaa2c170c8794f680","seq":0,"v":1}', '\x53534853494700000001000000330000000b7373682d6564323535313900000020231a5b5f56893fa65539026aba7f9d233c312cdde05cea61fba210a80305755c00000010686b6f6a692e726563656970742e76310000000000000006736861353132000000530000000b7373682d65643235353139000000409c638cab945c2dcbc0c3c3d2e932d9da89400e0a898a0b3519c0c37973fda4b2f91a3e2ffd1b7bc5f19428d0a4aaf9a28eac367610d8bf131ebffe27e0198708');
INSERT INTO public.entry VALUES ('9530ac1edbe1c9128a57c9c16a7380b0', 1, '{"at":"2026-11-20T12:00:00Z","body":{"entropy_commit":"fe8f2e99a4c1773c2e979b474ea7bf3f6ce49f293f55f06d7cbf365160dd4349","invite":null,"key":"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAINBKsjJ0K7SrOhNovUYV5ObQIkq3GgFrr4UgozLJd4c3"},"by":"alice","game":"9530ac1edbe1c9128a57c9c16a7380b0","kind":"open","prev":"b0b9694f06f019878f53f77a169ae933a1278ed64bd3d8dbaa2c170c8794f680","seq":1,"v":1}', '\x53534853494700000001000000330000000b7373682d6564323535313900000020d04ab232742bb4ab3a1368bd4615e4e6d0224ab71a016baf8520a332c97787370000000e686b6f6a692e656e7472792e76310000000000000006736861353132000000530000000b7373682d6564323535313900000040243bc74b5daafa4e10f833254665a64bb4d916d8940ab06512fe52b932bfb2c959be0ff72c5bb0bce1e8576164499a3cf239eae524defeec698233cf9a96d507', '{"at":"2026-11-20T12:00:00Z","game":"9530ac1edbe1c9128a57c9c16a7380b0","head":"e3ef8cfae12400d21771aa3ce65d07b3f783e6b3c30234a6dacda42db28975d1","seq":1,"v":1}', '\x53534853494700000001000000330000000b7373682d6564323535313900000020231a5b5f56893fa65539026aba7f9d233c312cdde05cea61fba210a80305755c00000010686b6f6a692e726563656970742e76310000000000000006736861353132000000530000000b7373682d65643235353139000000409644bfab6b5dfa181f8fb275daa6beb78a72e4afd54df6813553daa3a956d9fbbfd09df30f6bca4d6d8a83b4938d316807175ba78cf37d621c59e3612037fe0f');
INSERT INTO public.entry VALUES ('9530ac1edbe1c9128a57c9c16a7380b0', 2, '{"at":"2026-11-20T12:00:00Z","body":{"entropy_commit":"5cd98a2fb5de97e5d13b0b8889ac7b01939496c02f181cef319523431951a656","key":"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAICBAQONkwQ8r7Jwf5QChzUwkfInWUKAe1+gsq6hnh3wh"},"by":"bob","game":"9530ac1edbe1c9128a57c9c16a7380b0","kind":"join","prev":"e3ef8cfae12400d21771aa3ce65d07b3f783e6b3c30234a6dacda42db28975d1","seq":2,"v":1}', '\x53534853494700000001000000330000000b7373682d6564323535313900000020204040e364c10f2bec9c1fe500a1cd4c247c89d650a01ed7e82caba867877c210000000e686b6f6a692e656e7472792e76310000000000000006736861353132000000530000000b7373682d6564323535313900000040375d455f25f7cc756dc2e63f77250ba97083fff8ef9d296bd54b15a484400010149b48caff1ac4c97d3614ec0d4b18543fed8a0148bb24a9238464885d26da02', '{"at":"2026-11-20T12:00:00Z","game":"9530ac1edbe1c9128a57c9c16a7380b0","head":"c1d8f36c9613eeb7470da03dcaab583d3079d7596f2483dd74b94b14ba68475d","seq":2,"v":1}', '\x53534853494700000001000000330000000b7373682d6564323535313900000020231a5b5f56893fa65539026aba7f9d233c312cdde05cea61fba210a80305755c00000010686b6f6a692e726563656970742e76310000000000000006736861353132000000530000000b7373682d6564323535313900000040b5f5796a7b4aa4560ad38aa3af36c200f74d212eeffa4cd99430065e8d644adc87d15179a1e4ea31879c77a36cf39df1af40b6b0ac0fb75c4e86a47849f8250c');
INSERT INTO public.entry VALUES ('9530ac1edbe1c9128a57c9c16a7380b0', 3, '{"at":"2026-11-20T12:00:00Z","body":{"entropy":"cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd"},"by":"bob","game":"9530ac1edbe1c9128a57c9c16a7380b0","kind":"seed","prev":"c1d8f36c9613eeb7470da03dcaab583d3079d7596f2483dd74b94b14ba68475d","seq":3,"v":1}', '\x53534853494700000001000000330000000b7373682d6564323535313900000020204040e364c10f2bec9c1fe500a1cd4c247c89d650a01ed7e82caba867877c210000000e686b6f6a692e656e7472792e76310000000000000006736861353132000000530000000b7373682d6564323535313900000040a1009ea8d1ef68687d7f57a98f9e59f0a89ce0c607749c21f82794beac2de21867104e0471c670b9cd23af810b759d0c96d90b8d1ca38f8d951ae3930b212c0c', '{"at":"2026-11-20T12:00:00Z","game":"9530ac1edbe1c9128a57c9c16a7380b0","head":"768ad6ed9904cd84bb0e2d4c770decb4d9c42da2c744d28e50848937b5498828","seq":3,"v":1}', '\x53534853494700000001000000330000000b7373682d6564323535313900000020231a5b5f56893fa65539026aba7f9d233c312cdde05cea61fba210a80305755c00000010686b6f6a692e726563656970742e76310000000000000006736861353132000000530000000b7373682d6564323535313900000040178527ae79eb71776a84ed2262f20013d13f2ca27f3102b2ce2065800cdbd3938936fddb66bf56b2cc25d45aa34fd9514c3b30a0fbbe682fd78b21eb2f02590b');
INSERT INTO public.entry VALUES ('9530ac1edbe1c9128a57c9c16a7380b0', 4, '{"at":"2026-11-20T12:00:00Z","body":{"entropy":"abababababababababababababababababababababababababababababababab"},"by":"alice","game":"9530ac1edbe1c9128a57c9c16a7380b0","kind":"seed","prev":"768ad6ed9904cd84bb0e2d4c770decb4d9c42da2c744d28e50848937b5498828","seq":4,"v":1}', '\x53534853494700000001000000330000000b7373682d6564323535313900000020d04ab232742bb4ab3a1368bd4615e4e6d0224ab71a016baf8520a332c97787370000000e686b6f6a692e656e7472792e76310000000000000006736861353132000000530000000b7373682d6564323535313900000040528f173791e4ff80ff1640150207cc8159c6c9f5fac7cb378022510a2bbf8c4624c9029f1745d185f3416d8d2c7eeb75969be4059953576a5dd07b3080e8b609', '{"at":"2026-11-20T12:00:00Z","game":"9530ac1edbe1c9128a57c9c16a7380b0","head":"47d16fecd7e172887688162e81634b7a4b0b872584532cf7c308b2cfcc849527","seq":4,"v":1}', '\x53534853494700000001000000330000000b7373682d6564323535313900000020231a5b5f56893fa65539026aba7f9d233c312cdde05cea61fba210a80305755c00000010686b6f6a692e726563656970742e76310000000000000006736861353132000000530000000b7373682d65643235353139000000402b52e63041f37bdad29263d38abc307f749c9c081a8ec761214ec33641e302ac2617ce19d4fc859a08e440b543569e8e974f657aabab595f868f3e0136318607');
INSERT INTO public.entry VALUES ('9530ac1edbe1c9128a57c9c16a7380b0', 5, '{"at":"2026-11-20T12:00:00Z","body":{"action":"3EFF"},"by":"alice","game":"9530ac1edbe1c9128a57c9c16a7380b0","kind":"move","prev":"47d16fecd7e172887688162e81634b7a4b0b872584532cf7c308b2cfcc849527","seq":5,"v":1}', '\x53534853494700000001000000330000000b7373682d6564323535313900000020d04ab232742bb4ab3a1368bd4615e4e6d0224ab71a016baf8520a332c97787370000000e686b6f6a692e656e7472792e76310000000000000006736861353132000000530000000b7373682d656432353531390000004058d9e08373927535874754cd0c22aeb8cc7870403658fe4c056dc6339bb10907a0820892642fff9df58579c71ecdb13e60681af144b8320a8deef0df87a8100f', '{"at":"2026-11-20T12:00:00Z","game":"9530ac1edbe1c9128a57c9c16a7380b0","head":"4b625194bb1a64640b2ce836a4ab322e4d64fcf8adb277c7d8cc1ff409fabfed","seq":5,"v":1}', '\x53534853494700000001000000330000000b7373682d6564323535313900000020231a5b5f56893fa65539026aba7f9d233c312cdde05cea61fba210a80305755c00000010686b6f6a692e726563656970742e76310000000000000006736861353132000000530000000b7373682d65643235353139000000403767057c2ee6a0d27e48080e3c409e3c65281f912896a1dde775076f7b2157fd424a477c9293707db7a4d0c7cfa8249cbde4455ea1b7077dbfabf63d75b93302');
INSERT INTO public.entry VALUES ('9530ac1edbe1c9128a57c9c16a7380b0', 6, '{"at":"2026-11-20T12:00:00Z","body":{"action":"-F"},"by":"bob","game":"9530ac1edbe1c9128a57c9c16a7380b0","kind":"move","prev":"4b625194bb1a64640b2ce836a4ab322e4d64fcf8adb277c7d8cc1ff409fabfed","seq":6,"v":1}', '\x53534853494700000001000000330000000b7373682d6564323535313900000020204040e364c10f2bec9c1fe500a1cd4c247c89d650a01ed7e82caba867877c210000000e686b6f6a692e656e7472792e76310000000000000006736861353132000000530000000b7373682d656432353531390000004047a61bed8a8f0993f4f206d16ea0b8124da1cef56f95020a7c025580693eaf17abae0912c37ca540abed962d7fcf36d19d9328b91e492c8038c9952973910606', '{"at":"2026-11-20T12:00:00Z","game":"9530ac1edbe1c9128a57c9c16a7380b0","head":"9b6e1dc92ae28532ba22ccfc6ab1bbf25e834b69151a9058744dd971a56edad2","seq":6,"v":1}', '\x53534853494700000001000000330000000b7373682d6564323535313900000020231a5b5f56893fa65539026aba7f9d233c312cdde05cea61fba210a80305755c00000010686b6f6a692e726563656970742e76310000000000000006736861353132000000530000000b7373682d6564323535313900000040f486466e1b27328432fcbd6a93e2daec87fdc844b05392449c3acefd14debf62a04a2411f15b50b618de97030400486f96e136338eb898dea8e4cf6968f5c00b');
INSERT INTO public.entry VALUES ('9530ac1edbe1c9128a57c9c16a7380b0', 7, '{"at":"2026-11-20T12:00:00Z","body":{"action":"4AAGG"},"by":"bob","game":"9530ac1edbe1c9128a57c9c16a7380b0","kind":"move","prev":"9b6e1dc92ae28532ba22ccfc6ab1bbf25e834b69151a9058744dd971a56edad2","seq":7,"v":1}', '\x53534853494700000001000000330000000b7373682d6564323535313900000020204040e364c10f2bec9c1fe500a1cd4c247c89d650a01ed7e82caba867877c210000000e686b6f6a692e656e7472792e76310000000000000006736861353132000000530000000b7373682d656432353531390000004016b3128246e19e089ac23ceabb339afe73dd2a787772f3680c2bb569fab3833d66daf4fda19887443dcef7630b154667dc9dd7e6c31dc658656262e0e24a8304', '{"at":"2026-11-20T12:00:00Z","game":"9530ac1edbe1c9128a57c9c16a7380b0","head":"afc47b17401e77dce41d4a111e1f62eeb3efd4f765ee83e364b6c20589995ebb","seq":7,"v":1}', '\x53534853494700000001000000330000000b7373682d6564323535313900000020231a5b5f56893fa65539026aba7f9d233c312cdde05cea61fba210a80305755c00000010686b6f6a692e726563656970742e76310000000000000006736861353132000000530000000b7373682d65643235353139000000404bbe5346c2d0a161802d8763eaf9cd6a4db92019048a0f96dde62faa6d0b7030ec55f86b4e74ebd223a6f9d1d5bfdac64c0a391c4234f1f69bbae0b7f3ab000b');
INSERT INTO public.entry VALUES ('9530ac1edbe1c9128a57c9c16a7380b0', 8, '{"at":"2026-11-20T12:00:00Z","body":{"action":"-GG"},"by":"alice","game":"9530ac1edbe1c9128a57c9c16a7380b0","kind":"move","prev":"afc47b17401e77dce41d4a111e1f62eeb3efd4f765ee83e364b6c20589995ebb","seq":8,"v":1}', '\x53534853494700000001000000330000000b7373682d6564323535313900000020d04ab232742bb4ab3a1368bd4615e4e6d0224ab71a016baf8520a332c97787370000000e686b6f6a692e656e7472792e76310000000000000006736861353132000000530000000b7373682d65643235353139000000400caf20e739b18003f53726e76038532b175f9fd3bed858749475fdace0687f07106baeaac09782a325a1854c3561462ba79ff2ca50f9c55feb8332ee2404310e', '{"at":"2026-11-20T12:00:00Z","game":"9530ac1edbe1c9128a57c9c16a7380b0","head":"c0ae51c5d75e3334293159c88bda30b160fd151175ec977d685b056569b496ad","seq":8,"v":1}', '\x53534853494700000001000000330000000b7373682d6564323535313900000020231a5b5f56893fa65539026aba7f9d233c312cdde05cea61fba210a80305755c00000010686b6f6a692e726563656970742e76310000000000000006736861353132000000530000000b7373682d656432353531390000004039e46879314f42c2f8ff6732048481e60ec6e37268f6b7c47db0e2dd409b6304b52f2435a354c03c903c1f3cac41d5035bafb640a450c734583b23f262e50908');
INSERT INTO public.entry VALUES ('9530ac1edbe1c9128a57c9c16a7380b0', 9, '{"at":"2026-11-20T12:00:00Z","body":{"action":"1X","commit":["2ff218794e66f21a16179b1652f438ee536586525e235346f727935bf0ae9133"]},"by":"alice","game":"9530ac1edbe1c9128a57c9c16a7380b0","kind":"move","prev":"c0ae51c5d75e3334293159c88bda30b160fd151175ec977d685b056569b496ad","seq":9,"v":1}', '\x53534853494700000001000000330000000b7373682d6564323535313900000020d04ab232742bb4ab3a1368bd4615e4e6d0224ab71a016baf8520a332c97787370000000e686b6f6a692e656e7472792e76310000000000000006736861353132000000530000000b7373682d65643235353139000000409e7381297a801c820d9c4cbecb294c8ce7fe22eb8e6e553bb8d5ae8580f8b0d1676afad94544fd7362407b09e1b08741bb8de60a120510621a2c64d724a92609', '{"at":"2026-11-20T12:00:00Z","game":"9530ac1edbe1c9128a57c9c16a7380b0","head":"c0bdd5fcee5b7ee4834ba863d87e0e9d89167df796937bd4e102fbf9c73cd2b7","seq":9,"v":1}', '\x53534853494700000001000000330000000b7373682d6564323535313900000020231a5b5f56893fa65539026aba7f9d233c312cdde05cea61fba210a80305755c00000010686b6f6a692e726563656970742e76310000000000000006736861353132000000530000000b7373682d65643235353139000000406f50922ede84260228562509a4e1530c5845d05b8febee10d2a6d7b85ffcd368000a6e2f5ff7a750862d4aaa3768cad8820a19e730c74a959e7364b1bd79f90a');
INSERT INTO public.entry VALUES ('9530ac1edbe1c9128a57c9c16a7380b0', 10, '{"at":"2026-11-20T12:00:00Z","body":{"action":"2XX","commit":["6a5275e8c592ef477384ef7a065ef36f63118ed4f58be87af1d8e2d4b6506662"]},"by":"bob","game":"9530ac1edbe1c9128a57c9c16a7380b0","kind":"move","prev":"c0bdd5fcee5b7ee4834ba863d87e0e9d89167df796937bd4e102fbf9c73cd2b7","seq":10,"v":1}', '\x53534853494700000001000000330000000b7373682d6564323535313900000020204040e364c10f2bec9c1fe500a1cd4c247c89d650a01ed7e82caba867877c210000000e686b6f6a692e656e7472792e76310000000000000006736861353132000000530000000b7373682d656432353531390000004031bb42a97c9becb56c865cc6210cb7aa85f797553506fce3dd0527676b5066ee02a1c5a9889f05387851ec0b773e09cefbb1a1d48f9f0d24d11e8abbe59f7b03', '{"at":"2026-11-20T12:00:00Z","game":"9530ac1edbe1c9128a57c9c16a7380b0","head":"c076f4682dd09dc67ed30a7b32c155b7a998b4e991ec313f7d2e9a78bdb0893c","seq":10,"v":1}', '\x53534853494700000001000000330000000b7373682d6564323535313900000020231a5b5f56893fa65539026aba7f9d233c312cdde05cea61fba210a80305755c00000010686b6f6a692e726563656970742e76310000000000000006736861353132000000530000000b7373682d65643235353139000000403a2ae9477337f8ed2ba97e1b0ec04e603f2a7cf65e3c7d245b8594f64644e0e0cd63b9cdd7984f69e675b7073f7cde229007fec62099c18c78b873633b113b06');


--
-- Data for Name: game; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.game VALUES ('9530ac1edbe1c9128a57c9c16a7380b0', '{"first":"host","max_rounds":0,"name":"hanamikoji","tiebreak":"geisha","version":1}', 'playing', 'alice', 'bob', NULL, 10, 'c076f4682dd09dc67ed30a7b32c155b7a998b4e991ec313f7d2e9a78bdb0893c', 1, 0, 'alice', '2026-11-20T12:00:00Z', '2026-11-20T12:00:00Z', NULL, NULL);


--
-- Data for Name: opening; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.opening VALUES ('9530ac1edbe1c9128a57c9c16a7380b0', 9, 0, 'D', 'f5b165224a58b791df6af1d8303e61cdc4bb86c3d1c427103c344c4189eb2f1e');
INSERT INTO public.opening VALUES ('9530ac1edbe1c9128a57c9c16a7380b0', 10, 0, 'BE', '7bd5d47e446fcec2a3d811736110e5781bcccea696762e6116c6e9c92d99bf35');


--
-- Data for Name: player; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.player VALUES ('alice', 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAINBKsjJ0K7SrOhNovUYV5ObQIkq3GgFrr4UgozLJd4c3', '2026-11-20T12:00:00Z', '{"at":"2026-11-20T12:00:00Z","key":"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAINBKsjJ0K7SrOhNovUYV5ObQIkq3GgFrr4UgozLJd4c3","name":"alice","origin":"http://inside","v":1}', 'U1NIU0lHAAAAAQAAADMAAAALc3NoLWVkMjU1MTkAAAAg0EqyMnQrtKs6E2i9RhXk5tAiSrcaAWuvhSCjMsl3hzcAAAARaGtvamkucmVnaXN0ZXIudjEAAAAAAAAABnNoYTUxMgAAAFMAAAALc3NoLWVkMjU1MTkAAABAwPe0QFjzuZAddq9eMuVH5Dp2aSCEm3NxFsmSOSZG8AK5kTwxmR6XvgzGnM/h/buDUkQw+kDONXEWlWyOliOXBg==');
INSERT INTO public.player VALUES ('bob', 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAICBAQONkwQ8r7Jwf5QChzUwkfInWUKAe1+gsq6hnh3wh', '2026-11-20T12:00:00Z', '{"at":"2026-11-20T12:00:00Z","key":"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAICBAQONkwQ8r7Jwf5QChzUwkfInWUKAe1+gsq6hnh3wh","name":"bob","origin":"http://inside","v":1}', 'U1NIU0lHAAAAAQAAADMAAAALc3NoLWVkMjU1MTkAAAAgIEBA42TBDyvsnB/lAKHNTCR8idZQoB7X6CyrqGeHfCEAAAARaGtvamkucmVnaXN0ZXIudjEAAAAAAAAABnNoYTUxMgAAAFMAAAALc3NoLWVkMjU1MTkAAABAEWQebq55Aba3x0/dwuVPCkGxJC3z6aRqpKBjNUDwjPR72/j/qYVR8lorm+7mpmpoHgIfh3k/fJCGO+Y8hFOHDQ==');


--
-- Data for Name: secret; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.secret VALUES ('9530ac1edbe1c9128a57c9c16a7380b0', '49b42214fb9bf7251bcaf4372b0183c427290f6b9e8c2e2bd41a86412c25fa12', 'alice');


--
-- Data for Name: service; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.service VALUES (1, '-----BEGIN OPENSSH PRIVATE KEY-----
b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtz
c2gtZWQyNTUxOQAAACAjGltfVok/plU5Amq6f50jPDEs3eBc6mH7ohCoAwV1XAAA
AIjybJrW8mya1gAAAAtzc2gtZWQyNTUxOQAAACAjGltfVok/plU5Amq6f50jPDEs
3eBc6mH7ohCoAwV1XAAAAED6nJDfifS5JHzh/UV0619YlAm+mM/UgtSkNYHPlMrv
3SMaW19WiT+mVTkCarp/nSM8MSzd4FzqYfuiEKgDBXVcAAAAAAECAwQF
-----END OPENSSH PRIVATE KEY-----
', 'http://inside');


--
-- Data for Name: token; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.token VALUES ('d3674c590415e846bc85798a053bd1b41d4cbfbf70e6da16cddd52bffebc05f7', 'alice', '2026-11-21T12:00:00Z');
INSERT INTO public.token VALUES ('daafb396c309831297ec8b8669e2aa717dee7725088ad7129f913f953aeb67e7', 'bob', '2026-11-21T12:00:00Z');


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

CREATE INDEX game_guest ON public.game USING btree (guest, created) WHERE (guest IS NOT NULL);


--
-- Name: game_host; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX game_host ON public.game USING btree (host, created) WHERE (host IS NOT NULL);


--
-- Name: game_invite; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX game_invite ON public.game USING btree (invite, created) WHERE (invite IS NOT NULL);


--
-- Name: game_open; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX game_open ON public.game USING btree (created) WHERE (status = 'open'::text);


--
-- Name: game_shown; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX game_shown ON public.game USING btree (created) WHERE (status <> 'offered'::text);


--
-- Name: game_waiting; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX game_waiting ON public.game USING btree (to_move, created) WHERE (to_move IS NOT NULL);


--
-- Name: ix_challenge_expires; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_challenge_expires ON public.challenge USING btree (expires);


--
-- Name: ix_token_expires; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_token_expires ON public.token USING btree (expires);


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


