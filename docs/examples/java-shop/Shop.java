import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** A small web shop: it sells baskets and memberships, and hears by webhook what is paid. */
final class Shop {
    static final long PRICE = 2000; // of a basket, in francs
    static final long FEE = 5000; // of a month's membership

    /** What a subscription's status, or an event, says of a member. */
    static final Map<String, String> STATUSES = Map.of(
            "invoice.paid", "active", "subscription.active", "active",
            "subscription.payment_failed", "overdue", "subscription.past_due", "overdue",
            "subscription.canceled", "out");

    static final class Order {
        long baskets;
        long shipped;
        String status = "open";
    }

    static final class Member {
        String status = "joining";
        String latest = ""; // when the last event was, as far as is known
        final Set<String> paid = new HashSet<>(); // the invoices that are paid, one for each month
    }

    final Map<String, Order> orders = new ConcurrentHashMap<>(); // by checkout session
    final Map<String, Member> members = new ConcurrentHashMap<>(); // by customer
    final Payments payments;
    String secret; // of the webhook endpoint

    private final Set<String> handled = new HashSet<>();

    Shop(Payments payments, String secret) {
        this.payments = payments;
        this.secret = secret;
    }

    /** Begin an order; its checkout session has the URL where the buyer pays it. */
    Map<String, Object> order(String email, long baskets) {
        Map<String, Object> session = payments.post("/v1/checkout-sessions/", Map.of(
                "mode", "payment",
                "currency", "XAF",
                "success_url", "https://shop.example.com/thanks",
                "customer_email", email,
                "line_items", List.of(Map.of("description", "Basket", "unit_amount", PRICE, "quantity", baskets))));
        Order order = new Order();
        order.baskets = baskets;
        orders.put((String) session.get("id"), order);
        return session;
    }

    /** The page to which the buyer returns, which proves nothing; the order's status. */
    String thank(String session) {
        Order order = orders.get(session);
        if (order != null) lookUp(session, order);
        return order == null ? "unknown" : order.status;
    }

    /** Sign a member up, who pays now and every month; the customer's id. */
    String join(String email, String phone) {
        Map<String, Object> person = Map.of("email", email, "name", email, "phone", phone);
        String customer = (String) payments.post("/v1/customers/", person).get("id");
        // Before the request that charges: its webhook may come before its answer.
        members.put(customer, new Member());
        Map<String, Object> terms = Map.of("customer", customer, "unit_amount", FEE, "interval", "month");
        payments.call("POST", "/v1/subscriptions/", terms, "subscription-of-" + customer);
        return customer;
    }

    /** Pay back a part of an order. A second click on the button pays nothing more. */
    Map<String, Object> refund(String session, long amount) {
        Object intent = payments.get("/v1/checkout-sessions/" + session + "/").get("payment_intent");
        Object transaction = payments.get("/v1/payment-intents/" + intent + "/").get("transaction");
        Map<String, Object> body = Map.of("transaction", transaction, "amount", amount);
        return payments.call("POST", "/v1/refunds/", body, "refund-" + session + "-" + amount);
    }

    /** Every night: look up what no webhook has said. */
    void reconcile() {
        orders.forEach(this::lookUp);
        members.forEach((customer, member) -> {
            for (Map<String, Object> subscription : payments.list("/v1/subscriptions/?customer=" + customer)) {
                var paid = payments.list("/v1/invoices/?page_size=100&status=paid&subscription=" + subscription.get("id"));
                synchronized (this) {
                    member.status = STATUSES.getOrDefault("subscription." + subscription.get("status"), member.status);
                    paid.forEach(invoice -> member.paid.add((String) invoice.get("id")));
                }
            }
        });
    }

    private void lookUp(String session, Order order) {
        if (order.status.equals("paid")) return;
        if ("complete".equals(payments.get("/v1/checkout-sessions/" + session + "/").get("status"))) ship(order);
    }

    /** Serve browsers and the payments service on a port of this machine; 0 picks a free one. */
    HttpServer serve(int port) throws IOException {
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 0);
        server.setExecutor(Executors.newCachedThreadPool());
        server.createContext("/", this::answer);
        server.start();
        return server;
    }

    private void answer(HttpExchange exchange) throws IOException {
        byte[] body = exchange.getRequestBody().readAllBytes();
        String path = exchange.getRequestURI().getPath();
        int status = 404;
        Object answer = Map.of();
        try {
            switch (exchange.getRequestMethod() + " " + path.replaceFirst("(?<=/thanks/).*", "")) {
                case "POST /webhooks" -> status = hear(exchange.getRequestHeaders().getFirst("Service-Signature"), body);
                case "POST /orders" -> {
                    Map<String, Object> form = Payments.object(body); // of the fields that a browser sends only these count
                    answer = Map.of("pay_at", order((String) form.get("email"), (Long) form.get("baskets")).get("url"));
                    status = 201;
                }
                case "POST /members" -> {
                    Map<String, Object> form = Payments.object(body);
                    answer = Map.of("member", join((String) form.get("email"), (String) form.get("phone")));
                    status = 201;
                }
                case "GET /thanks/" -> {
                    answer = Map.of("status", thank(path.substring("/thanks/".length())));
                    status = 200;
                }
                default -> { }
            }
        } catch (IllegalArgumentException | ClassCastException | NullPointerException error) {
            status = 400;
        } catch (RuntimeException error) {
            status = 502;
        }
        byte[] text = Json.write(answer).getBytes(StandardCharsets.UTF_8);
        exchange.getResponseHeaders().set("Content-Type", "application/json");
        exchange.sendResponseHeaders(status, text.length);
        try (exchange) {
            exchange.getResponseBody().write(text);
        }
    }

    private int hear(String signature, byte[] body) {
        Map<String, Object> event = Payments.object(body);
        // The ping that tries the address comes before anybody knows the secret.
        if (!"webhook.ping".equals(event.get("type")) && !isGenuine(signature, body)) return 401;
        synchronized (this) {
            // An event may arrive twice; the second time there is nothing left to do.
            if (handled.add((String) event.get("id"))) handle(event);
        }
        return 200;
    }

    private boolean isGenuine(String signature, byte[] body) {
        try {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(secret.getBytes(StandardCharsets.UTF_8), "HmacSHA256"));
            byte[] expected = HexFormat.of().formatHex(mac.doFinal(body)).getBytes(StandardCharsets.UTF_8);
            return signature != null && MessageDigest.isEqual(expected, signature.getBytes(StandardCharsets.UTF_8));
        } catch (GeneralSecurityException error) {
            throw new IllegalStateException(error);
        }
    }

    private void handle(Map<String, Object> event) {
        Map<String, Object> about = Payments.inner(Payments.inner(event.get("data")).get("object"));
        String type = (String) event.get("type");
        String at = (String) event.get("created_at");
        Order order = orders.get(String.valueOf(about.getOrDefault("checkout_session", about.get("id"))));
        if (order != null && type.equals("checkout.session.completed") && about.get("amount_total").equals(order.baskets * PRICE)) {
            ship(order);
        }
        // Events may come in any order: a paid order stays paid.
        if (order != null && type.equals("payment_intent.failed") && !order.status.equals("paid")) order.status = "declined";
        Member member = members.get(String.valueOf(about.get("customer")));
        if (member == null || !STATUSES.containsKey(type)) return;
        if (type.equals("invoice.paid")) member.paid.add((String) about.get("id"));
        // An older event does not undo what a newer one said.
        if (at.compareTo(member.latest) >= 0) {
            member.status = STATUSES.get(type);
            member.latest = at;
        }
    }

    private synchronized void ship(Order order) {
        if (order.status.equals("paid")) return;
        order.status = "paid";
        order.shipped += order.baskets;
    }

    public static void main(String[] arguments) throws IOException {
        Map<String, String> environment = System.getenv();
        Payments payments = new Payments(environment.get("PAYMENTS_URL"), environment.get("PAYMENTS_KEY"));
        Shop shop = new Shop(payments, environment.get("PAYMENTS_WEBHOOK_SECRET"));
        HttpServer server = shop.serve(Integer.parseInt(environment.get("PORT")));
        System.out.println("http://127.0.0.1:" + server.getAddress().getPort());
    }
}
