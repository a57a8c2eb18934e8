import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;

/** The shop's test suite, and its story; without a test framework. */
final class ShopTest implements AutoCloseable {
    static final String PAYS = "+24177000000";
    static final String TOO_LITTLE_MONEY = "+24177000001";
    static final List<String> EVENTS = List.of("checkout.session.completed", "payment_intent.failed",
            "invoice.paid", "subscription.payment_failed", "subscription.canceled");

    interface Test {
        void run(ShopTest world) throws Exception;
    }

    private final Payments payments;
    private final Shop shop;
    private final HttpServer server;
    private final HttpClient browser = HttpClient.newHttpClient();

    private ShopTest(String key) throws IOException {
        payments = new Payments(System.getenv("PAYMENTS_EMULATOR_URL"), key);
        payments.timeout = Duration.ofMinutes(1); // a year that passes takes its time
        shop = new Shop(payments, "");
        server = shop.serve(0);
        payments.post("/_emulator/clock/freeze", Map.of());
        Map<String, ?> endpoint = Map.of("name", "Shop", "url", url("/webhooks"), "events", EVENTS);
        shop.secret = (String) payments.post("/v1/webhooks/", endpoint).get("secret");
    }

    @Override
    public void close() {
        server.stop(0);
    }

    private String url(String path) {
        return "http://127.0.0.1:" + server.getAddress().getPort() + path;
    }

    private static void equal(Object got, Object wanted, String what) {
        if (!Objects.equals(got, wanted)) throw new AssertionError(what + ": " + got + " instead of " + wanted);
    }

    /** Return when everything that fell due is done, the webhooks' answers included. */
    private void advance(String by) {
        payments.post("/_emulator/clock/advance", Map.of("by", by));
    }

    private void fault(Map<String, ?> then, Map<String, ?> match) {
        payments.post("/_emulator/faults", Map.of("then", then, "match", match));
    }

    /** What the shop answers to a browser. */
    private Map<String, Object> browse(String method, String path, Map<String, ?> form) throws Exception {
        var body = form == null ? BodyPublishers.noBody() : BodyPublishers.ofString(Json.write(form));
        HttpRequest request = HttpRequest.newBuilder(URI.create(url(path))).method(method, body).build();
        return Payments.object(browser.send(request, BodyHandlers.ofByteArray()).body());
    }

    /** The checkout session of a new order; the price that a browser sends counts for nothing. */
    private String order(int baskets) throws Exception {
        Map<String, ?> form = Map.of("email", "awa@example.com", "baskets", baskets, "price", 100);
        String payAt = (String) browse("POST", "/orders", form).get("pay_at");
        return payAt.substring(payAt.lastIndexOf('/') + 1);
    }

    private void pay(String session, String phone) {
        Map<String, ?> method = Map.of("type", "mobile_money", "phone", phone);
        payments.post("/_emulator/checkout-sessions/" + session + "/pay", Map.of("method", method));
        advance("1s");
    }

    private String join(String email, String phone) throws Exception {
        String member = (String) browse("POST", "/members", Map.of("email", email, "phone", phone)).get("member");
        advance("1s");
        return member;
    }

    private Object status(String session) throws Exception {
        return browse("GET", "/thanks/" + session, null).get("status");
    }

    private void changePhone(String customer, String phone) {
        payments.call("PATCH", "/v1/customers/" + customer + "/", Map.of("phone", phone), "phone-" + customer + phone);
    }

    static final Map<String, Test> TESTS = new LinkedHashMap<>();

    static {
        TESTS.put("an order is shipped once, when it is paid", world -> {
            world.fault(Map.of("duplicate", 2), Map.of("event", "checkout.session.completed"));
            String session = world.order(3);
            equal(world.status(session), "open", "status before the payment");
            world.pay(session, TOO_LITTLE_MONEY);
            equal(world.shop.orders.get(session).status, "declined", "status after a declined payment");
            world.pay(session, PAYS);
            equal(world.shop.orders.get(session).shipped, 3L, "baskets");
            equal(world.status(session), "paid", "status");
        });
        TESTS.put("a refund is paid once", world -> {
            String session = world.order(1);
            world.pay(session, PAYS);
            Object refund = world.shop.refund(session, 500).get("id");
            equal(world.shop.refund(session, 500).get("id"), refund, "refund");
            world.advance("1d");
            equal(world.payments.get("/v1/refunds/" + refund + "/").get("status"), "succeeded", "status");
        });
        TESTS.put("a member pays every month", world -> {
            Shop.Member member = world.shop.members.get(world.join("awa@example.com", PAYS));
            world.advance("P1Y");
            equal(member.paid.size(), 13, "months");
            equal(member.status, "active", "status");
        });
        TESTS.put("a renewal that fails recovers", world -> {
            String customer = world.join("awa@example.com", TOO_LITTLE_MONEY);
            equal(world.shop.members.get(customer).status, "overdue", "status");
            world.changePhone(customer, PAYS);
            world.advance("1d");
            equal(world.shop.members.get(customer).status, "active", "status after the retry");
        });
        TESTS.put("a forged webhook changes nothing", world -> {
            world.fault(Map.of("tamper", true), Map.of("event", "checkout.session.completed"));
            String session = world.order(1);
            world.pay(session, PAYS);
            equal(world.shop.orders.get(session).shipped, 0L, "baskets");
        });
        TESTS.put("a lost answer is asked for again", world -> {
            world.fault(Map.of("drop", "after"), Map.of("path", "/checkout-sessions/"));
            String session = world.order(1);
            var sessions = world.payments.list("/v1/checkout-sessions/");
            equal(sessions.size(), 1, "sessions");
            equal(sessions.get(0).get("id"), session, "session");
        });
    }

    /** Some days at the shop, to be tried with every fault. They end the same whatever is lost on the way. */
    private static void story(ShopTest world) throws Exception {
        Shop shop = world.shop;
        String paid = world.order(2);
        String unpaid = world.order(2);
        equal(world.status(unpaid), "open", "an order was shipped that no one paid");
        world.pay(paid, TOO_LITTLE_MONEY);
        world.pay(paid, PAYS);
        for (int click = 0; click < 2; click++) shop.refund(paid, 1000);
        equal(world.payments.list("/_emulator/objects?kind=refund").size(), 1, "refunds made of one");

        String awa = world.join("awa@example.org", PAYS);
        String ben = world.join("ben@example.org", TOO_LITTLE_MONEY);
        equal(shop.members.get(ben).status.equals("active"), false, "a member came in who had not paid");
        world.changePhone(ben, PAYS);
        try {
            shop.order("no address", 1);
            throw new AssertionError("an order without an address was taken");
        } catch (Payments.ApiError error) {
            equal(error.status, 422, "status of an order without an address");
        }

        // A month passes, what was delayed arrives, then the shop does what it does every night.
        world.advance("33d");
        shop.reconcile();
        equal(shop.orders.get(paid).shipped, 2L, "baskets shipped of 2 that were ordered");
        equal(shop.orders.get(paid).status, "paid", "a paid order");
        equal(shop.orders.get(unpaid).shipped, 0L, "baskets shipped that no one paid");
        for (String customer : List.of(awa, ben)) {
            equal(shop.members.get(customer).status, "active", "a member who paid");
            equal(shop.members.get(customer).paid.size(), 2, "months that were paid");
        }
    }

    /** Every test in a world of its own; or, with the argument "story", the story in the world of the given key. */
    public static void main(String[] arguments) throws Exception {
        if (arguments.length > 0) {
            try (ShopTest world = new ShopTest(System.getenv("PAYMENTS_EMULATOR_KEY"))) {
                story(world);
            }
            System.exit(0);
        }
        int failed = 0;
        for (Map.Entry<String, Test> test : TESTS.entrySet()) {
            try (ShopTest world = new ShopTest("sk_test_" + UUID.randomUUID())) {
                world.payments.pauses = new long[] {10};
                test.getValue().run(world);
                System.out.println("ok " + test.getKey());
            } catch (Exception | AssertionError error) {
                System.out.println("FAILED " + test.getKey() + ": " + error);
                failed++;
            }
        }
        System.exit(failed);
    }
}
