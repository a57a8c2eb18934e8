--
-- PostgreSQL database dump
--

\restrict JGvqgfSI1cZWjZAxPeRLHtnUBqZLRwErePeMyQ8kr1rPlk6F4ktIBnkt5jJWCBi

-- Dumped from database version 15.18 (Debian 15.18-0+deb12u1)
-- Dumped by pg_dump version 15.18 (Debian 15.18-0+deb12u1)

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
-- Name: emulator_format; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.emulator_format (
    format integer NOT NULL
);


--
-- Name: emulator_records; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.emulator_records (
    world integer NOT NULL,
    kind character varying(40) NOT NULL,
    id character varying(255) NOT NULL,
    number bigint NOT NULL,
    data text NOT NULL
);


--
-- Name: emulator_snapshots; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.emulator_snapshots (
    number integer NOT NULL,
    world integer NOT NULL,
    name character varying(64) NOT NULL,
    data text NOT NULL
);


--
-- Name: emulator_snapshots_number_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.emulator_snapshots_number_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: emulator_snapshots_number_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.emulator_snapshots_number_seq OWNED BY public.emulator_snapshots.number;


--
-- Name: emulator_worlds; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.emulator_worlds (
    id integer NOT NULL,
    key character varying(80) NOT NULL,
    head text NOT NULL
);


--
-- Name: emulator_worlds_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.emulator_worlds_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: emulator_worlds_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.emulator_worlds_id_seq OWNED BY public.emulator_worlds.id;


--
-- Name: emulator_snapshots number; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.emulator_snapshots ALTER COLUMN number SET DEFAULT nextval('public.emulator_snapshots_number_seq'::regclass);


--
-- Name: emulator_worlds id; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.emulator_worlds ALTER COLUMN id SET DEFAULT nextval('public.emulator_worlds_id_seq'::regclass);


--
-- Data for Name: emulator_format; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.emulator_format VALUES (2);


--
-- Data for Name: emulator_records; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.emulator_records VALUES (1, 'settings', 'settings', 1, '{"id":"settings","main_currency":"XAF","currencies":["XAF","XOF","EUR","USD"],"countries":["GA","CM","CI","SN","CG","TD","BJ","TG","BF","ML","FR","US"],"pricing_plan":"growth","commission_rate":0,"tax_rate":0,"minimum_amount":100,"maximum_amount":99999999,"error_shape":"documented","unknown_fields":"reject","rate_limit":null,"concurrency_limit":null,"renewal_retry_days":[1,3,5,7],"reactivation_days":30,"operator_delay":0,"mobile_money":"auto","refund_timing":"documented","refund_review":false,"refund_expiry_days":30,"webhook_http":"loopback","trusted_proxies":["127.0.0.0/8","::1/128"],"merchant":null,"readings":{"search_nothing_found":"empty","metadata_values":"scalars","renewal_without_method":"invoice","past_due_periods":"skipped","success_url":"optional","anonymous_customer":"made","payment_received":"intent","webhook_success":"200","webhook_retry":"faults","cors_without_domains":"none"}}');
INSERT INTO public.emulator_records VALUES (1, 'event', 'evt_BZgxO30tG4bE7ZF370564CoW', 3, '{"id":"evt_BZgxO30tG4bE7ZF370564CoW","object":"event","type":"customer.created","api_version":"v1","app":"app_gdHlxiz3hsCNKjF5R79hqSSs","livemode":false,"created_at":"2026-01-01T00:00:00.000Z","request":"req_OkUKVkXq1iIV1qn7lJfmQ7Wq","data":{"object":{"id":"cust_zIfw2zB7OzChuUhxXi4ezkY6","object":"customer","app":"app_gdHlxiz3hsCNKjF5R79hqSSs","email":"awa@example.com","firstname":"Awa","lastname":"Diop","phone":"+24177000000","address":null,"status":"active","is_blacklisted":false,"transactions_count":0,"total_spent":0,"currency":"XAF","metadata":{},"created_at":"2026-01-01T00:00:00.000Z","updated_at":"2026-01-01T00:00:00.000Z"}}}');
INSERT INTO public.emulator_records VALUES (1, 'payment_method', 'meth_FAODb1k085Om5e61SQV4H4OZ', 4, '{"id":"meth_FAODb1k085Om5e61SQV4H4OZ","object":"payment_method","app":"app_gdHlxiz3hsCNKjF5R79hqSSs","customer":"cust_zIfw2zB7OzChuUhxXi4ezkY6","type":"mobile_money","status":"active","is_default":true,"details":{"operator":"Airtel","phone":"+24177000000","country":"GA"},"metadata":{},"livemode":false,"created_at":"2026-01-01T00:00:00.000Z","updated_at":"2026-01-01T00:00:00.000Z","magic":null}');
INSERT INTO public.emulator_records VALUES (1, 'event', 'evt_21eFoV50Tp6EWTfikoOL5HBv', 6, '{"id":"evt_21eFoV50Tp6EWTfikoOL5HBv","object":"event","type":"subscription.created","api_version":"v1","app":"app_gdHlxiz3hsCNKjF5R79hqSSs","livemode":false,"created_at":"2026-01-01T00:00:00.000Z","request":"req_m4j0zJIixmYKhXmsdINYZCHx","data":{"object":{"id":"sub_IjpuXfHS5YWujxNglG4fJbiI","object":"subscription","app":"app_gdHlxiz3hsCNKjF5R79hqSSs","customer":"cust_zIfw2zB7OzChuUhxXi4ezkY6","status":"active","plan":null,"product":null,"currency":"XAF","unit_amount":5000,"interval":"month","interval_count":1,"collection_method":"charge_automatically","current_period_start":"2026-01-01T00:00:00.000Z","current_period_end":"2026-02-01T00:00:00.000Z","trial_start":null,"trial_end":null,"canceled_at":null,"cancel_at_period_end":false,"ends_at":null,"payment_method":"meth_FAODb1k085Om5e61SQV4H4OZ","metadata":{},"created_at":"2026-01-01T00:00:00.000Z","updated_at":"2026-01-01T00:00:00.000Z"}}}');
INSERT INTO public.emulator_records VALUES (1, 'invoice', 'inv_aK1do7inFJYn6gxsomqf4FoA', 8, '{"id":"inv_aK1do7inFJYn6gxsomqf4FoA","object":"invoice","invoice_number":"INV-2026-000001","status":"paid","customer":"cust_zIfw2zB7OzChuUhxXi4ezkY6","customer_email":"awa@example.com","subscription":"sub_IjpuXfHS5YWujxNglG4fJbiI","currency":"XAF","subtotal":5000,"tax_amount":0,"discount_amount":0,"total":5000,"amount_paid":5000,"amount_remaining":0,"due_date":"2026-01-31","description":null,"footer":null,"payment_url":"http://127.0.0.1:4747/invoice/inv_aK1do7inFJYn6gxsomqf4FoA","pdf_url":"http://127.0.0.1:4747/v1/invoices/inv_aK1do7inFJYn6gxsomqf4FoA/pdf/?token=token_NfixVYh3BvTVdJHSW4RdboQn","line_items":[{"product":null,"description":"Subscription","quantity":1,"unit_amount":5000,"amount":5000}],"metadata":{},"livemode":false,"created_at":"2026-01-01T00:00:00.000Z","updated_at":"2026-01-01T00:00:00.000Z","paid_manually":false,"tax_rate":0.0}');
INSERT INTO public.emulator_records VALUES (1, 'payment_intent', 'pi_FoeqU6L07ixZyIYiI7nR4jUm', 9, '{"id":"pi_FoeqU6L07ixZyIYiI7nR4jUm","object":"payment_intent","app":"app_gdHlxiz3hsCNKjF5R79hqSSs","amount":5000,"amount_capturable":0,"amount_received":5000,"currency":"XAF","status":"succeeded","capture_method":"automatic","customer":"cust_zIfw2zB7OzChuUhxXi4ezkY6","customer_email":"awa@example.com","payment_method":"meth_FAODb1k085Om5e61SQV4H4OZ","payment_method_type":"mobile_money","payment_method_types":["mobile_money"],"description":"Invoice INV-2026-000001","next_action":null,"last_error":null,"checkout_session":null,"payment_link":null,"invoice":"inv_aK1do7inFJYn6gxsomqf4FoA","subscription":"sub_IjpuXfHS5YWujxNglG4fJbiI","transaction":"trans_5l0Y6T30H4Fimldn7k9QzAQS","metadata":{},"canceled_at":null,"livemode":false,"created_at":"2026-01-01T00:00:00.000Z","updated_at":"2026-01-01T00:00:00.000Z","instrument":{"type":"mobile_money","details":{"operator":"Airtel","phone":"+24177000000","country":"GA"},"magic":null},"product":null,"link_metadata":null,"begins_subscription":false,"sold":[]}');
INSERT INTO public.emulator_records VALUES (1, 'transaction', 'trans_5l0Y6T30H4Fimldn7k9QzAQS', 10, '{"id":"trans_5l0Y6T30H4Fimldn7k9QzAQS","object":"transaction","app":"app_gdHlxiz3hsCNKjF5R79hqSSs","amount":5000,"amount_refunded":0,"fee":145,"fee_rate":2.9,"commission":0,"commission_rate":0,"net_amount":4855,"currency":"XAF","status":"completed","type":"deposit","description":"Invoice INV-2026-000001","payment_intent":"pi_FoeqU6L07ixZyIYiI7nR4jUm","customer":"cust_zIfw2zB7OzChuUhxXi4ezkY6","payment_method_type":"mobile_money","operator":"Airtel","processed_at":"2026-01-01T00:00:00.000Z","metadata":{},"livemode":false,"created_at":"2026-01-01T00:00:00.000Z","updated_at":"2026-01-01T00:00:00.000Z","instrument":{"type":"mobile_money","details":{"operator":"Airtel","phone":"+24177000000","country":"GA"},"magic":null}}');
INSERT INTO public.emulator_records VALUES (1, 'customer', 'cust_zIfw2zB7OzChuUhxXi4ezkY6', 2, '{"id":"cust_zIfw2zB7OzChuUhxXi4ezkY6","object":"customer","app":"app_gdHlxiz3hsCNKjF5R79hqSSs","email":"awa@example.com","firstname":"Awa","lastname":"Diop","phone":"+24177000000","address":null,"status":"active","is_blacklisted":false,"transactions_count":3,"total_spent":15000,"currency":"XAF","metadata":{},"created_at":"2026-01-01T00:00:00.000Z","updated_at":"2026-03-01T00:00:00.000Z","lost_method":false}');
INSERT INTO public.emulator_records VALUES (1, 'event', 'evt_uN9wKt7gmQAuJcBuZEpd1zdg', 11, '{"id":"evt_uN9wKt7gmQAuJcBuZEpd1zdg","object":"event","type":"payment_intent.succeeded","api_version":"v1","app":"app_gdHlxiz3hsCNKjF5R79hqSSs","livemode":false,"created_at":"2026-01-01T00:00:00.000Z","request":null,"data":{"object":{"id":"pi_FoeqU6L07ixZyIYiI7nR4jUm","object":"payment_intent","app":"app_gdHlxiz3hsCNKjF5R79hqSSs","amount":5000,"amount_capturable":0,"amount_received":5000,"currency":"XAF","status":"succeeded","capture_method":"automatic","customer":"cust_zIfw2zB7OzChuUhxXi4ezkY6","customer_email":"awa@example.com","payment_method":"meth_FAODb1k085Om5e61SQV4H4OZ","payment_method_type":"mobile_money","payment_method_types":["mobile_money"],"description":"Invoice INV-2026-000001","next_action":null,"last_error":null,"checkout_session":null,"payment_link":null,"invoice":"inv_aK1do7inFJYn6gxsomqf4FoA","subscription":"sub_IjpuXfHS5YWujxNglG4fJbiI","transaction":"trans_5l0Y6T30H4Fimldn7k9QzAQS","metadata":{},"canceled_at":null,"livemode":false,"created_at":"2026-01-01T00:00:00.000Z","updated_at":"2026-01-01T00:00:00.000Z"}}}');
INSERT INTO public.emulator_records VALUES (1, 'event', 'evt_K1hgEu32RUKIjIWodNmlk009', 12, '{"id":"evt_K1hgEu32RUKIjIWodNmlk009","object":"event","type":"transaction.succeeded","api_version":"v1","app":"app_gdHlxiz3hsCNKjF5R79hqSSs","livemode":false,"created_at":"2026-01-01T00:00:00.000Z","request":null,"data":{"object":{"id":"trans_5l0Y6T30H4Fimldn7k9QzAQS","object":"transaction","app":"app_gdHlxiz3hsCNKjF5R79hqSSs","amount":5000,"amount_refunded":0,"fee":145,"fee_rate":2.9,"commission":0,"commission_rate":0,"net_amount":4855,"currency":"XAF","status":"completed","type":"deposit","description":"Invoice INV-2026-000001","payment_intent":"pi_FoeqU6L07ixZyIYiI7nR4jUm","customer":"cust_zIfw2zB7OzChuUhxXi4ezkY6","payment_method_type":"mobile_money","operator":"Airtel","processed_at":"2026-01-01T00:00:00.000Z","metadata":{},"livemode":false,"created_at":"2026-01-01T00:00:00.000Z","updated_at":"2026-01-01T00:00:00.000Z"}}}');
INSERT INTO public.emulator_records VALUES (1, 'receipt', 'rcpt_0XPw1JvG7Tvk7MMHpUeW2XTY', 13, '{"id":"rcpt_0XPw1JvG7Tvk7MMHpUeW2XTY","object":"receipt","app":"app_gdHlxiz3hsCNKjF5R79hqSSs","number":"RCPT-2026-000001","transaction":"trans_5l0Y6T30H4Fimldn7k9QzAQS","customer":"cust_zIfw2zB7OzChuUhxXi4ezkY6","customer_email":"awa@example.com","amount":5000,"currency":"XAF","url":"http://127.0.0.1:4747/receipt/rcpt_0XPw1JvG7Tvk7MMHpUeW2XTY","livemode":false,"created_at":"2026-01-01T00:00:00.000Z"}');
INSERT INTO public.emulator_records VALUES (1, 'email', 'mail_iPdZXbE6MZ2N1LwPZaEUBzMl', 14, '{"id":"mail_iPdZXbE6MZ2N1LwPZaEUBzMl","topic":"receipt","to":"awa@example.com","merchant":"story","language":"en","created_at":"2026-01-01T00:00:00.000Z","customer":{"id":"cust_zIfw2zB7OzChuUhxXi4ezkY6","object":"customer","app":"app_gdHlxiz3hsCNKjF5R79hqSSs","email":"awa@example.com","firstname":"Awa","lastname":"Diop","phone":"+24177000000","address":null,"status":"active","is_blacklisted":false,"transactions_count":1,"total_spent":5000,"currency":"XAF","metadata":{},"created_at":"2026-01-01T00:00:00.000Z","updated_at":"2026-01-01T00:00:00.000Z","lost_method":false},"invoice":{"id":"inv_aK1do7inFJYn6gxsomqf4FoA","object":"invoice","invoice_number":"INV-2026-000001","status":"open","customer":"cust_zIfw2zB7OzChuUhxXi4ezkY6","customer_email":"awa@example.com","subscription":"sub_IjpuXfHS5YWujxNglG4fJbiI","currency":"XAF","subtotal":5000,"tax_amount":0,"discount_amount":0,"total":5000,"amount_paid":0,"amount_remaining":5000,"due_date":"2026-01-31","description":null,"footer":null,"payment_url":"http://127.0.0.1:4747/invoice/inv_aK1do7inFJYn6gxsomqf4FoA","pdf_url":"http://127.0.0.1:4747/v1/invoices/inv_aK1do7inFJYn6gxsomqf4FoA/pdf/?token=token_NfixVYh3BvTVdJHSW4RdboQn","line_items":[{"product":null,"description":"Subscription","quantity":1,"unit_amount":5000,"amount":5000}],"metadata":{},"livemode":false,"created_at":"2026-01-01T00:00:00.000Z","updated_at":"2026-01-01T00:00:00.000Z","paid_manually":false,"tax_rate":0.0},"subscription":null,"item":null,"again_at":null,"transaction":{"id":"trans_5l0Y6T30H4Fimldn7k9QzAQS","object":"transaction","app":"app_gdHlxiz3hsCNKjF5R79hqSSs","amount":5000,"amount_refunded":0,"fee":145,"fee_rate":2.9,"commission":0,"commission_rate":0,"net_amount":4855,"currency":"XAF","status":"completed","type":"deposit","description":"Invoice INV-2026-000001","payment_intent":"pi_FoeqU6L07ixZyIYiI7nR4jUm","customer":"cust_zIfw2zB7OzChuUhxXi4ezkY6","payment_method_type":"mobile_money","operator":"Airtel","processed_at":"2026-01-01T00:00:00.000Z","metadata":{},"livemode":false,"created_at":"2026-01-01T00:00:00.000Z","updated_at":"2026-01-01T00:00:00.000Z","instrument":{"type":"mobile_money","details":{"operator":"Airtel","phone":"+24177000000","country":"GA"},"magic":null}},"receipt":{"id":"rcpt_0XPw1JvG7Tvk7MMHpUeW2XTY","object":"receipt","app":"app_gdHlxiz3hsCNKjF5R79hqSSs","number":"RCPT-2026-000001","transaction":"trans_5l0Y6T30H4Fimldn7k9QzAQS","customer":"cust_zIfw2zB7OzChuUhxXi4ezkY6","customer_email":"awa@example.com","amount":5000,"currency":"XAF","url":"http://127.0.0.1:4747/receipt/rcpt_0XPw1JvG7Tvk7MMHpUeW2XTY","livemode":false,"created_at":"2026-01-01T00:00:00.000Z"},"refund":null,"sent_at":null,"error":null,"images":[],"seller":null,"lines":[]}');
INSERT INTO public.emulator_records VALUES (1, 'event', 'evt_RBxB84BsitsEIDnoiHga4PbU', 15, '{"id":"evt_RBxB84BsitsEIDnoiHga4PbU","object":"event","type":"invoice.paid","api_version":"v1","app":"app_gdHlxiz3hsCNKjF5R79hqSSs","livemode":false,"created_at":"2026-01-01T00:00:00.000Z","request":null,"data":{"object":{"id":"inv_aK1do7inFJYn6gxsomqf4FoA","object":"invoice","invoice_number":"INV-2026-000001","status":"paid","customer":"cust_zIfw2zB7OzChuUhxXi4ezkY6","customer_email":"awa@example.com","subscription":"sub_IjpuXfHS5YWujxNglG4fJbiI","currency":"XAF","subtotal":5000,"tax_amount":0,"discount_amount":0,"total":5000,"amount_paid":5000,"amount_remaining":0,"due_date":"2026-01-31","description":null,"footer":null,"payment_url":"http://127.0.0.1:4747/invoice/inv_aK1do7inFJYn6gxsomqf4FoA","pdf_url":"http://127.0.0.1:4747/v1/invoices/inv_aK1do7inFJYn6gxsomqf4FoA/pdf/?token=token_NfixVYh3BvTVdJHSW4RdboQn","line_items":[{"product":null,"description":"Subscription","quantity":1,"unit_amount":5000,"amount":5000}],"metadata":{},"livemode":false,"created_at":"2026-01-01T00:00:00.000Z","updated_at":"2026-01-01T00:00:00.000Z"}}}');
INSERT INTO public.emulator_records VALUES (1, 'invoice', 'inv_UxyHH8y5oRM1DIVZPpCFe3BR', 17, '{"id":"inv_UxyHH8y5oRM1DIVZPpCFe3BR","object":"invoice","invoice_number":"INV-2026-000002","status":"paid","customer":"cust_zIfw2zB7OzChuUhxXi4ezkY6","customer_email":"awa@example.com","subscription":"sub_IjpuXfHS5YWujxNglG4fJbiI","currency":"XAF","subtotal":5000,"tax_amount":0,"discount_amount":0,"total":5000,"amount_paid":5000,"amount_remaining":0,"due_date":"2026-03-03","description":null,"footer":null,"payment_url":"http://127.0.0.1:4747/invoice/inv_UxyHH8y5oRM1DIVZPpCFe3BR","pdf_url":"http://127.0.0.1:4747/v1/invoices/inv_UxyHH8y5oRM1DIVZPpCFe3BR/pdf/?token=token_cC0W8VfDfVuYeY77Vf6pb94r","line_items":[{"product":null,"description":"Subscription","quantity":1,"unit_amount":5000,"amount":5000}],"metadata":{},"livemode":false,"created_at":"2026-02-01T00:00:00.000Z","updated_at":"2026-02-01T00:00:00.000Z","paid_manually":false,"tax_rate":0.0}');
INSERT INTO public.emulator_records VALUES (1, 'payment_intent', 'pi_FTm1bSfgjNemp56Sv3MCaTEk', 18, '{"id":"pi_FTm1bSfgjNemp56Sv3MCaTEk","object":"payment_intent","app":"app_gdHlxiz3hsCNKjF5R79hqSSs","amount":5000,"amount_capturable":0,"amount_received":5000,"currency":"XAF","status":"succeeded","capture_method":"automatic","customer":"cust_zIfw2zB7OzChuUhxXi4ezkY6","customer_email":"awa@example.com","payment_method":"meth_FAODb1k085Om5e61SQV4H4OZ","payment_method_type":"mobile_money","payment_method_types":["mobile_money"],"description":"Invoice INV-2026-000002","next_action":null,"last_error":null,"checkout_session":null,"payment_link":null,"invoice":"inv_UxyHH8y5oRM1DIVZPpCFe3BR","subscription":"sub_IjpuXfHS5YWujxNglG4fJbiI","transaction":"trans_7Alhb2i7xmkrMiKM1Zjc5eSF","metadata":{},"canceled_at":null,"livemode":false,"created_at":"2026-02-01T00:00:00.000Z","updated_at":"2026-02-01T00:00:00.000Z","instrument":{"type":"mobile_money","details":{"operator":"Airtel","phone":"+24177000000","country":"GA"},"magic":null},"product":null,"link_metadata":null,"begins_subscription":false,"sold":[]}');
INSERT INTO public.emulator_records VALUES (1, 'transaction', 'trans_7Alhb2i7xmkrMiKM1Zjc5eSF', 19, '{"id":"trans_7Alhb2i7xmkrMiKM1Zjc5eSF","object":"transaction","app":"app_gdHlxiz3hsCNKjF5R79hqSSs","amount":5000,"amount_refunded":0,"fee":145,"fee_rate":2.9,"commission":0,"commission_rate":0,"net_amount":4855,"currency":"XAF","status":"completed","type":"deposit","description":"Invoice INV-2026-000002","payment_intent":"pi_FTm1bSfgjNemp56Sv3MCaTEk","customer":"cust_zIfw2zB7OzChuUhxXi4ezkY6","payment_method_type":"mobile_money","operator":"Airtel","processed_at":"2026-02-01T00:00:00.000Z","metadata":{},"livemode":false,"created_at":"2026-02-01T00:00:00.000Z","updated_at":"2026-02-01T00:00:00.000Z","instrument":{"type":"mobile_money","details":{"operator":"Airtel","phone":"+24177000000","country":"GA"},"magic":null}}');
INSERT INTO public.emulator_records VALUES (1, 'event', 'evt_stzrtClMiXyD7oZRETM9dPB2', 20, '{"id":"evt_stzrtClMiXyD7oZRETM9dPB2","object":"event","type":"payment_intent.succeeded","api_version":"v1","app":"app_gdHlxiz3hsCNKjF5R79hqSSs","livemode":false,"created_at":"2026-02-01T00:00:00.000Z","request":null,"data":{"object":{"id":"pi_FTm1bSfgjNemp56Sv3MCaTEk","object":"payment_intent","app":"app_gdHlxiz3hsCNKjF5R79hqSSs","amount":5000,"amount_capturable":0,"amount_received":5000,"currency":"XAF","status":"succeeded","capture_method":"automatic","customer":"cust_zIfw2zB7OzChuUhxXi4ezkY6","customer_email":"awa@example.com","payment_method":"meth_FAODb1k085Om5e61SQV4H4OZ","payment_method_type":"mobile_money","payment_method_types":["mobile_money"],"description":"Invoice INV-2026-000002","next_action":null,"last_error":null,"checkout_session":null,"payment_link":null,"invoice":"inv_UxyHH8y5oRM1DIVZPpCFe3BR","subscription":"sub_IjpuXfHS5YWujxNglG4fJbiI","transaction":"trans_7Alhb2i7xmkrMiKM1Zjc5eSF","metadata":{},"canceled_at":null,"livemode":false,"created_at":"2026-02-01T00:00:00.000Z","updated_at":"2026-02-01T00:00:00.000Z"}}}');
INSERT INTO public.emulator_records VALUES (1, 'event', 'evt_8afN50FGbRRdkwJ8zL58dqbb', 21, '{"id":"evt_8afN50FGbRRdkwJ8zL58dqbb","object":"event","type":"transaction.succeeded","api_version":"v1","app":"app_gdHlxiz3hsCNKjF5R79hqSSs","livemode":false,"created_at":"2026-02-01T00:00:00.000Z","request":null,"data":{"object":{"id":"trans_7Alhb2i7xmkrMiKM1Zjc5eSF","object":"transaction","app":"app_gdHlxiz3hsCNKjF5R79hqSSs","amount":5000,"amount_refunded":0,"fee":145,"fee_rate":2.9,"commission":0,"commission_rate":0,"net_amount":4855,"currency":"XAF","status":"completed","type":"deposit","description":"Invoice INV-2026-000002","payment_intent":"pi_FTm1bSfgjNemp56Sv3MCaTEk","customer":"cust_zIfw2zB7OzChuUhxXi4ezkY6","payment_method_type":"mobile_money","operator":"Airtel","processed_at":"2026-02-01T00:00:00.000Z","metadata":{},"livemode":false,"created_at":"2026-02-01T00:00:00.000Z","updated_at":"2026-02-01T00:00:00.000Z"}}}');
INSERT INTO public.emulator_records VALUES (1, 'receipt', 'rcpt_k1TMcCYRtUbASbzZyi0iSgeL', 22, '{"id":"rcpt_k1TMcCYRtUbASbzZyi0iSgeL","object":"receipt","app":"app_gdHlxiz3hsCNKjF5R79hqSSs","number":"RCPT-2026-000002","transaction":"trans_7Alhb2i7xmkrMiKM1Zjc5eSF","customer":"cust_zIfw2zB7OzChuUhxXi4ezkY6","customer_email":"awa@example.com","amount":5000,"currency":"XAF","url":"http://127.0.0.1:4747/receipt/rcpt_k1TMcCYRtUbASbzZyi0iSgeL","livemode":false,"created_at":"2026-02-01T00:00:00.000Z"}');
INSERT INTO public.emulator_records VALUES (1, 'email', 'mail_767QR3xr45c1O8WeBfY1ggZW', 23, '{"id":"mail_767QR3xr45c1O8WeBfY1ggZW","topic":"receipt","to":"awa@example.com","merchant":"story","language":"en","created_at":"2026-02-01T00:00:00.000Z","customer":{"id":"cust_zIfw2zB7OzChuUhxXi4ezkY6","object":"customer","app":"app_gdHlxiz3hsCNKjF5R79hqSSs","email":"awa@example.com","firstname":"Awa","lastname":"Diop","phone":"+24177000000","address":null,"status":"active","is_blacklisted":false,"transactions_count":2,"total_spent":10000,"currency":"XAF","metadata":{},"created_at":"2026-01-01T00:00:00.000Z","updated_at":"2026-02-01T00:00:00.000Z","lost_method":false},"invoice":{"id":"inv_UxyHH8y5oRM1DIVZPpCFe3BR","object":"invoice","invoice_number":"INV-2026-000002","status":"open","customer":"cust_zIfw2zB7OzChuUhxXi4ezkY6","customer_email":"awa@example.com","subscription":"sub_IjpuXfHS5YWujxNglG4fJbiI","currency":"XAF","subtotal":5000,"tax_amount":0,"discount_amount":0,"total":5000,"amount_paid":0,"amount_remaining":5000,"due_date":"2026-03-03","description":null,"footer":null,"payment_url":"http://127.0.0.1:4747/invoice/inv_UxyHH8y5oRM1DIVZPpCFe3BR","pdf_url":"http://127.0.0.1:4747/v1/invoices/inv_UxyHH8y5oRM1DIVZPpCFe3BR/pdf/?token=token_cC0W8VfDfVuYeY77Vf6pb94r","line_items":[{"product":null,"description":"Subscription","quantity":1,"unit_amount":5000,"amount":5000}],"metadata":{},"livemode":false,"created_at":"2026-02-01T00:00:00.000Z","updated_at":"2026-02-01T00:00:00.000Z","paid_manually":false,"tax_rate":0.0},"subscription":null,"item":null,"again_at":null,"transaction":{"id":"trans_7Alhb2i7xmkrMiKM1Zjc5eSF","object":"transaction","app":"app_gdHlxiz3hsCNKjF5R79hqSSs","amount":5000,"amount_refunded":0,"fee":145,"fee_rate":2.9,"commission":0,"commission_rate":0,"net_amount":4855,"currency":"XAF","status":"completed","type":"deposit","description":"Invoice INV-2026-000002","payment_intent":"pi_FTm1bSfgjNemp56Sv3MCaTEk","customer":"cust_zIfw2zB7OzChuUhxXi4ezkY6","payment_method_type":"mobile_money","operator":"Airtel","processed_at":"2026-02-01T00:00:00.000Z","metadata":{},"livemode":false,"created_at":"2026-02-01T00:00:00.000Z","updated_at":"2026-02-01T00:00:00.000Z","instrument":{"type":"mobile_money","details":{"operator":"Airtel","phone":"+24177000000","country":"GA"},"magic":null}},"receipt":{"id":"rcpt_k1TMcCYRtUbASbzZyi0iSgeL","object":"receipt","app":"app_gdHlxiz3hsCNKjF5R79hqSSs","number":"RCPT-2026-000002","transaction":"trans_7Alhb2i7xmkrMiKM1Zjc5eSF","customer":"cust_zIfw2zB7OzChuUhxXi4ezkY6","customer_email":"awa@example.com","amount":5000,"currency":"XAF","url":"http://127.0.0.1:4747/receipt/rcpt_k1TMcCYRtUbASbzZyi0iSgeL","livemode":false,"created_at":"2026-02-01T00:00:00.000Z"},"refund":null,"sent_at":null,"error":null,"images":[],"seller":null,"lines":[]}');
INSERT INTO public.emulator_records VALUES (1, 'event', 'evt_Jl8vCFDWXNtAh4YXQpZkqB6e', 24, '{"id":"evt_Jl8vCFDWXNtAh4YXQpZkqB6e","object":"event","type":"invoice.paid","api_version":"v1","app":"app_gdHlxiz3hsCNKjF5R79hqSSs","livemode":false,"created_at":"2026-02-01T00:00:00.000Z","request":null,"data":{"object":{"id":"inv_UxyHH8y5oRM1DIVZPpCFe3BR","object":"invoice","invoice_number":"INV-2026-000002","status":"paid","customer":"cust_zIfw2zB7OzChuUhxXi4ezkY6","customer_email":"awa@example.com","subscription":"sub_IjpuXfHS5YWujxNglG4fJbiI","currency":"XAF","subtotal":5000,"tax_amount":0,"discount_amount":0,"total":5000,"amount_paid":5000,"amount_remaining":0,"due_date":"2026-03-03","description":null,"footer":null,"payment_url":"http://127.0.0.1:4747/invoice/inv_UxyHH8y5oRM1DIVZPpCFe3BR","pdf_url":"http://127.0.0.1:4747/v1/invoices/inv_UxyHH8y5oRM1DIVZPpCFe3BR/pdf/?token=token_cC0W8VfDfVuYeY77Vf6pb94r","line_items":[{"product":null,"description":"Subscription","quantity":1,"unit_amount":5000,"amount":5000}],"metadata":{},"livemode":false,"created_at":"2026-02-01T00:00:00.000Z","updated_at":"2026-02-01T00:00:00.000Z"}}}');
INSERT INTO public.emulator_records VALUES (1, 'subscription', 'sub_IjpuXfHS5YWujxNglG4fJbiI', 5, '{"id":"sub_IjpuXfHS5YWujxNglG4fJbiI","object":"subscription","app":"app_gdHlxiz3hsCNKjF5R79hqSSs","customer":"cust_zIfw2zB7OzChuUhxXi4ezkY6","status":"active","plan":null,"product":null,"currency":"XAF","unit_amount":5000,"interval":"month","interval_count":1,"collection_method":"charge_automatically","current_period_start":"2026-03-01T00:00:00.000Z","current_period_end":"2026-04-01T00:00:00.000Z","trial_start":null,"trial_end":null,"canceled_at":null,"cancel_at_period_end":false,"ends_at":null,"payment_method":"meth_FAODb1k085Om5e61SQV4H4OZ","metadata":{},"created_at":"2026-01-01T00:00:00.000Z","updated_at":"2026-03-01T00:00:00.000Z","anchor":"2026-01-01T00:00:00.000Z","period":3,"paused_at":null,"failed_at":null,"failures":0,"unpaid_invoice":null}');
INSERT INTO public.emulator_records VALUES (1, 'invoice', 'inv_z7slFqwSA39NLA91kX9bW8vx', 26, '{"id":"inv_z7slFqwSA39NLA91kX9bW8vx","object":"invoice","invoice_number":"INV-2026-000003","status":"paid","customer":"cust_zIfw2zB7OzChuUhxXi4ezkY6","customer_email":"awa@example.com","subscription":"sub_IjpuXfHS5YWujxNglG4fJbiI","currency":"XAF","subtotal":5000,"tax_amount":0,"discount_amount":0,"total":5000,"amount_paid":5000,"amount_remaining":0,"due_date":"2026-03-31","description":null,"footer":null,"payment_url":"http://127.0.0.1:4747/invoice/inv_z7slFqwSA39NLA91kX9bW8vx","pdf_url":"http://127.0.0.1:4747/v1/invoices/inv_z7slFqwSA39NLA91kX9bW8vx/pdf/?token=token_RApPI7fCVWttZmSWF3eEgo8p","line_items":[{"product":null,"description":"Subscription","quantity":1,"unit_amount":5000,"amount":5000}],"metadata":{},"livemode":false,"created_at":"2026-03-01T00:00:00.000Z","updated_at":"2026-03-01T00:00:00.000Z","paid_manually":false,"tax_rate":0.0}');
INSERT INTO public.emulator_records VALUES (1, 'payment_intent', 'pi_e7R9z3lmLHrUhJkYkq9V3K3m', 27, '{"id":"pi_e7R9z3lmLHrUhJkYkq9V3K3m","object":"payment_intent","app":"app_gdHlxiz3hsCNKjF5R79hqSSs","amount":5000,"amount_capturable":0,"amount_received":5000,"currency":"XAF","status":"succeeded","capture_method":"automatic","customer":"cust_zIfw2zB7OzChuUhxXi4ezkY6","customer_email":"awa@example.com","payment_method":"meth_FAODb1k085Om5e61SQV4H4OZ","payment_method_type":"mobile_money","payment_method_types":["mobile_money"],"description":"Invoice INV-2026-000003","next_action":null,"last_error":null,"checkout_session":null,"payment_link":null,"invoice":"inv_z7slFqwSA39NLA91kX9bW8vx","subscription":"sub_IjpuXfHS5YWujxNglG4fJbiI","transaction":"trans_dWM8MdpO4wxV0ogBPWar146S","metadata":{},"canceled_at":null,"livemode":false,"created_at":"2026-03-01T00:00:00.000Z","updated_at":"2026-03-01T00:00:00.000Z","instrument":{"type":"mobile_money","details":{"operator":"Airtel","phone":"+24177000000","country":"GA"},"magic":null},"product":null,"link_metadata":null,"begins_subscription":false,"sold":[]}');
INSERT INTO public.emulator_records VALUES (1, 'transaction', 'trans_dWM8MdpO4wxV0ogBPWar146S', 28, '{"id":"trans_dWM8MdpO4wxV0ogBPWar146S","object":"transaction","app":"app_gdHlxiz3hsCNKjF5R79hqSSs","amount":5000,"amount_refunded":0,"fee":145,"fee_rate":2.9,"commission":0,"commission_rate":0,"net_amount":4855,"currency":"XAF","status":"completed","type":"deposit","description":"Invoice INV-2026-000003","payment_intent":"pi_e7R9z3lmLHrUhJkYkq9V3K3m","customer":"cust_zIfw2zB7OzChuUhxXi4ezkY6","payment_method_type":"mobile_money","operator":"Airtel","processed_at":"2026-03-01T00:00:00.000Z","metadata":{},"livemode":false,"created_at":"2026-03-01T00:00:00.000Z","updated_at":"2026-03-01T00:00:00.000Z","instrument":{"type":"mobile_money","details":{"operator":"Airtel","phone":"+24177000000","country":"GA"},"magic":null}}');
INSERT INTO public.emulator_records VALUES (1, 'event', 'evt_UOnzfKOdnif7nsTwE4M2Kj3b', 29, '{"id":"evt_UOnzfKOdnif7nsTwE4M2Kj3b","object":"event","type":"payment_intent.succeeded","api_version":"v1","app":"app_gdHlxiz3hsCNKjF5R79hqSSs","livemode":false,"created_at":"2026-03-01T00:00:00.000Z","request":null,"data":{"object":{"id":"pi_e7R9z3lmLHrUhJkYkq9V3K3m","object":"payment_intent","app":"app_gdHlxiz3hsCNKjF5R79hqSSs","amount":5000,"amount_capturable":0,"amount_received":5000,"currency":"XAF","status":"succeeded","capture_method":"automatic","customer":"cust_zIfw2zB7OzChuUhxXi4ezkY6","customer_email":"awa@example.com","payment_method":"meth_FAODb1k085Om5e61SQV4H4OZ","payment_method_type":"mobile_money","payment_method_types":["mobile_money"],"description":"Invoice INV-2026-000003","next_action":null,"last_error":null,"checkout_session":null,"payment_link":null,"invoice":"inv_z7slFqwSA39NLA91kX9bW8vx","subscription":"sub_IjpuXfHS5YWujxNglG4fJbiI","transaction":"trans_dWM8MdpO4wxV0ogBPWar146S","metadata":{},"canceled_at":null,"livemode":false,"created_at":"2026-03-01T00:00:00.000Z","updated_at":"2026-03-01T00:00:00.000Z"}}}');
INSERT INTO public.emulator_records VALUES (1, 'event', 'evt_7TdH4v5lE56Zsl4N4srmGOC7', 30, '{"id":"evt_7TdH4v5lE56Zsl4N4srmGOC7","object":"event","type":"transaction.succeeded","api_version":"v1","app":"app_gdHlxiz3hsCNKjF5R79hqSSs","livemode":false,"created_at":"2026-03-01T00:00:00.000Z","request":null,"data":{"object":{"id":"trans_dWM8MdpO4wxV0ogBPWar146S","object":"transaction","app":"app_gdHlxiz3hsCNKjF5R79hqSSs","amount":5000,"amount_refunded":0,"fee":145,"fee_rate":2.9,"commission":0,"commission_rate":0,"net_amount":4855,"currency":"XAF","status":"completed","type":"deposit","description":"Invoice INV-2026-000003","payment_intent":"pi_e7R9z3lmLHrUhJkYkq9V3K3m","customer":"cust_zIfw2zB7OzChuUhxXi4ezkY6","payment_method_type":"mobile_money","operator":"Airtel","processed_at":"2026-03-01T00:00:00.000Z","metadata":{},"livemode":false,"created_at":"2026-03-01T00:00:00.000Z","updated_at":"2026-03-01T00:00:00.000Z"}}}');
INSERT INTO public.emulator_records VALUES (1, 'receipt', 'rcpt_E674HQ42RNDHBWDTCz2YAUxO', 31, '{"id":"rcpt_E674HQ42RNDHBWDTCz2YAUxO","object":"receipt","app":"app_gdHlxiz3hsCNKjF5R79hqSSs","number":"RCPT-2026-000003","transaction":"trans_dWM8MdpO4wxV0ogBPWar146S","customer":"cust_zIfw2zB7OzChuUhxXi4ezkY6","customer_email":"awa@example.com","amount":5000,"currency":"XAF","url":"http://127.0.0.1:4747/receipt/rcpt_E674HQ42RNDHBWDTCz2YAUxO","livemode":false,"created_at":"2026-03-01T00:00:00.000Z"}');
INSERT INTO public.emulator_records VALUES (1, 'email', 'mail_vSfqqNyfOKDf9n5cVr5PEuH0', 32, '{"id":"mail_vSfqqNyfOKDf9n5cVr5PEuH0","topic":"receipt","to":"awa@example.com","merchant":"story","language":"en","created_at":"2026-03-01T00:00:00.000Z","customer":{"id":"cust_zIfw2zB7OzChuUhxXi4ezkY6","object":"customer","app":"app_gdHlxiz3hsCNKjF5R79hqSSs","email":"awa@example.com","firstname":"Awa","lastname":"Diop","phone":"+24177000000","address":null,"status":"active","is_blacklisted":false,"transactions_count":3,"total_spent":15000,"currency":"XAF","metadata":{},"created_at":"2026-01-01T00:00:00.000Z","updated_at":"2026-03-01T00:00:00.000Z","lost_method":false},"invoice":{"id":"inv_z7slFqwSA39NLA91kX9bW8vx","object":"invoice","invoice_number":"INV-2026-000003","status":"open","customer":"cust_zIfw2zB7OzChuUhxXi4ezkY6","customer_email":"awa@example.com","subscription":"sub_IjpuXfHS5YWujxNglG4fJbiI","currency":"XAF","subtotal":5000,"tax_amount":0,"discount_amount":0,"total":5000,"amount_paid":0,"amount_remaining":5000,"due_date":"2026-03-31","description":null,"footer":null,"payment_url":"http://127.0.0.1:4747/invoice/inv_z7slFqwSA39NLA91kX9bW8vx","pdf_url":"http://127.0.0.1:4747/v1/invoices/inv_z7slFqwSA39NLA91kX9bW8vx/pdf/?token=token_RApPI7fCVWttZmSWF3eEgo8p","line_items":[{"product":null,"description":"Subscription","quantity":1,"unit_amount":5000,"amount":5000}],"metadata":{},"livemode":false,"created_at":"2026-03-01T00:00:00.000Z","updated_at":"2026-03-01T00:00:00.000Z","paid_manually":false,"tax_rate":0.0},"subscription":null,"item":null,"again_at":null,"transaction":{"id":"trans_dWM8MdpO4wxV0ogBPWar146S","object":"transaction","app":"app_gdHlxiz3hsCNKjF5R79hqSSs","amount":5000,"amount_refunded":0,"fee":145,"fee_rate":2.9,"commission":0,"commission_rate":0,"net_amount":4855,"currency":"XAF","status":"completed","type":"deposit","description":"Invoice INV-2026-000003","payment_intent":"pi_e7R9z3lmLHrUhJkYkq9V3K3m","customer":"cust_zIfw2zB7OzChuUhxXi4ezkY6","payment_method_type":"mobile_money","operator":"Airtel","processed_at":"2026-03-01T00:00:00.000Z","metadata":{},"livemode":false,"created_at":"2026-03-01T00:00:00.000Z","updated_at":"2026-03-01T00:00:00.000Z","instrument":{"type":"mobile_money","details":{"operator":"Airtel","phone":"+24177000000","country":"GA"},"magic":null}},"receipt":{"id":"rcpt_E674HQ42RNDHBWDTCz2YAUxO","object":"receipt","app":"app_gdHlxiz3hsCNKjF5R79hqSSs","number":"RCPT-2026-000003","transaction":"trans_dWM8MdpO4wxV0ogBPWar146S","customer":"cust_zIfw2zB7OzChuUhxXi4ezkY6","customer_email":"awa@example.com","amount":5000,"currency":"XAF","url":"http://127.0.0.1:4747/receipt/rcpt_E674HQ42RNDHBWDTCz2YAUxO","livemode":false,"created_at":"2026-03-01T00:00:00.000Z"},"refund":null,"sent_at":null,"error":null,"images":[],"seller":null,"lines":[]}');
INSERT INTO public.emulator_records VALUES (1, 'event', 'evt_UbR52QCBjiykhDOWwF13JuJt', 33, '{"id":"evt_UbR52QCBjiykhDOWwF13JuJt","object":"event","type":"invoice.paid","api_version":"v1","app":"app_gdHlxiz3hsCNKjF5R79hqSSs","livemode":false,"created_at":"2026-03-01T00:00:00.000Z","request":null,"data":{"object":{"id":"inv_z7slFqwSA39NLA91kX9bW8vx","object":"invoice","invoice_number":"INV-2026-000003","status":"paid","customer":"cust_zIfw2zB7OzChuUhxXi4ezkY6","customer_email":"awa@example.com","subscription":"sub_IjpuXfHS5YWujxNglG4fJbiI","currency":"XAF","subtotal":5000,"tax_amount":0,"discount_amount":0,"total":5000,"amount_paid":5000,"amount_remaining":0,"due_date":"2026-03-31","description":null,"footer":null,"payment_url":"http://127.0.0.1:4747/invoice/inv_z7slFqwSA39NLA91kX9bW8vx","pdf_url":"http://127.0.0.1:4747/v1/invoices/inv_z7slFqwSA39NLA91kX9bW8vx/pdf/?token=token_RApPI7fCVWttZmSWF3eEgo8p","line_items":[{"product":null,"description":"Subscription","quantity":1,"unit_amount":5000,"amount":5000}],"metadata":{},"livemode":false,"created_at":"2026-03-01T00:00:00.000Z","updated_at":"2026-03-01T00:00:00.000Z"}}}');
INSERT INTO public.emulator_records VALUES (1, 'job', 'job_4', 34, '{"id":"job_4","name":"subscription.renew","due":"2026-04-01T00:00:00.000Z","sequence":4,"about":"sub_IjpuXfHS5YWujxNglG4fJbiI","data":{}}');
INSERT INTO public.emulator_records VALUES (1, 'refund', 'refd_7XjJt0P61Y4wVySobz8PcFr1', 35, '{"id":"refd_7XjJt0P61Y4wVySobz8PcFr1","object":"refund","transaction":"trans_5l0Y6T30H4Fimldn7k9QzAQS","amount":700,"currency":"XAF","status":"processing","reason":null,"description":null,"failure_reason":null,"payment_method_type":"mobile_money","refunded_at":null,"metadata":{},"livemode":false,"created_at":"2026-03-12T00:00:00.000Z","updated_at":"2026-03-12T00:00:00.000Z"}');
INSERT INTO public.emulator_records VALUES (1, 'job', 'job_5', 36, '{"id":"job_5","name":"refund.answer","due":"2026-03-13T00:00:00.000Z","sequence":5,"about":"refd_7XjJt0P61Y4wVySobz8PcFr1","data":{}}');
INSERT INTO public.emulator_records VALUES (1, 'job', 'job_6', 37, '{"id":"job_6","name":"refund.expire","due":"2026-04-11T00:00:00.000Z","sequence":6,"about":"refd_7XjJt0P61Y4wVySobz8PcFr1","data":{}}');


--
-- Data for Name: emulator_snapshots; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: emulator_worlds; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.emulator_worlds VALUES (1, 'sk_test_story', '{"now":"2026-03-12T00:00:00.000Z","mode":"frozen","rate":1.0,"counters":{"record":37,"draw":37,"job":6,"invoice":3,"receipt":3},"since":1795458539.0806534,"seed":"7"}');


--
-- Name: emulator_snapshots_number_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.emulator_snapshots_number_seq', 1, false);


--
-- Name: emulator_worlds_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.emulator_worlds_id_seq', 1, true);


--
-- Name: emulator_records emulator_records_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.emulator_records
    ADD CONSTRAINT emulator_records_pkey PRIMARY KEY (world, kind, id);


--
-- Name: emulator_snapshots emulator_snapshots_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.emulator_snapshots
    ADD CONSTRAINT emulator_snapshots_pkey PRIMARY KEY (number);


--
-- Name: emulator_snapshots emulator_snapshots_world_name_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.emulator_snapshots
    ADD CONSTRAINT emulator_snapshots_world_name_key UNIQUE (world, name);


--
-- Name: emulator_worlds emulator_worlds_key_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.emulator_worlds
    ADD CONSTRAINT emulator_worlds_key_key UNIQUE (key);


--
-- Name: emulator_worlds emulator_worlds_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.emulator_worlds
    ADD CONSTRAINT emulator_worlds_pkey PRIMARY KEY (id);


--
-- Name: emulator_records_by_number; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX emulator_records_by_number ON public.emulator_records USING btree (world, kind, number);


--
-- Name: emulator_records_email_customer_id; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX emulator_records_email_customer_id ON public.emulator_records USING btree (world, (((data)::json #>> '{customer,id}'::text[]))) WHERE (((kind)::text = 'email'::text) AND (((data)::json #>> '{customer,id}'::text[]) IS NOT NULL));


--
-- Name: emulator_records_email_invoice_id; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX emulator_records_email_invoice_id ON public.emulator_records USING btree (world, (((data)::json #>> '{invoice,id}'::text[]))) WHERE (((kind)::text = 'email'::text) AND (((data)::json #>> '{invoice,id}'::text[]) IS NOT NULL));


--
-- Name: emulator_records_email_receipt_id; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX emulator_records_email_receipt_id ON public.emulator_records USING btree (world, (((data)::json #>> '{receipt,id}'::text[]))) WHERE (((kind)::text = 'email'::text) AND (((data)::json #>> '{receipt,id}'::text[]) IS NOT NULL));


--
-- Name: emulator_records_email_refund_id; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX emulator_records_email_refund_id ON public.emulator_records USING btree (world, (((data)::json #>> '{refund,id}'::text[]))) WHERE (((kind)::text = 'email'::text) AND (((data)::json #>> '{refund,id}'::text[]) IS NOT NULL));


--
-- Name: emulator_records_email_subscription_id; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX emulator_records_email_subscription_id ON public.emulator_records USING btree (world, (((data)::json #>> '{subscription,id}'::text[]))) WHERE (((kind)::text = 'email'::text) AND (((data)::json #>> '{subscription,id}'::text[]) IS NOT NULL));


--
-- Name: emulator_records_email_transaction_id; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX emulator_records_email_transaction_id ON public.emulator_records USING btree (world, (((data)::json #>> '{transaction,id}'::text[]))) WHERE (((kind)::text = 'email'::text) AND (((data)::json #>> '{transaction,id}'::text[]) IS NOT NULL));


--
-- Name: emulator_records_event_data_object_id; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX emulator_records_event_data_object_id ON public.emulator_records USING btree (world, (((data)::json #>> '{data,object,id}'::text[]))) WHERE (((kind)::text = 'event'::text) AND (((data)::json #>> '{data,object,id}'::text[]) IS NOT NULL));


--
-- PostgreSQL database dump complete
--

\unrestrict JGvqgfSI1cZWjZAxPeRLHtnUBqZLRwErePeMyQ8kr1rPlk6F4ktIBnkt5jJWCBi

