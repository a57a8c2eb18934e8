// The story with the client that openapi-generator makes for Java: java Story SERVER
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.List;
import payments.ApiClient;
import payments.ApiException;
import payments.api.CheckoutSessionsApi;
import payments.api.CustomersApi;
import payments.api.InvoicesApi;
import payments.api.RefundsApi;
import payments.api.SubscriptionPlansApi;
import payments.api.TransactionsApi;
import payments.model.ApiError;
import payments.model.CheckoutLineInput;
import payments.model.CheckoutMode;
import payments.model.CheckoutSession;
import payments.model.CheckoutSessionCreate;
import payments.model.CheckoutSessionStatus;
import payments.model.Customer;
import payments.model.CustomerCreate;
import payments.model.ErrorCode;
import payments.model.Interval;
import payments.model.InvoiceList;
import payments.model.InvoiceStatus;
import payments.model.Refund;
import payments.model.RefundCreate;
import payments.model.RefundStatus;
import payments.model.SubscriptionPlan;
import payments.model.SubscriptionPlanCreate;
import payments.model.TransactionList;

public final class Story {
    private static final String KEY = "sk_test_java";

    public static void main(String[] arguments) throws Exception {
        String server = arguments[0];
        ApiClient client = new ApiClient();
        client.updateBaseUri(server + "/v1");
        client.setRequestInterceptor(request -> request.header("Authorization", "Bearer " + KEY));

        CustomersApi customers = new CustomersApi(client);
        Customer customer = customers.createCustomer(
            new CustomerCreate().email("awa@example.com").name("Awa Diop").phone("+24177000000"), null);
        SubscriptionPlan plan = new SubscriptionPlansApi(client).createSubscriptionPlan(
            new SubscriptionPlanCreate().name("Basic").amount(5000).currency("XAF").interval(Interval.MONTH), null);

        CheckoutSessionsApi sessions = new CheckoutSessionsApi(client);
        CheckoutSession session = sessions.createCheckoutSession(
            new CheckoutSessionCreate()
                .mode(CheckoutMode.SUBSCRIPTION)
                .currency("XAF")
                .customer(customer.getId())
                .addLineItemsItem(new CheckoutLineInput().plan(plan.getId())),
            null);
        control(server + "/_emulator/checkout-sessions/" + session.getId() + "/pay", "{}");
        session = sessions.getCheckoutSession(session.getId());
        expect(session.getStatus() == CheckoutSessionStatus.COMPLETE, "the session is not complete");

        control(server + "/_emulator/clock/advance", "{\"by\": \"31d\"}");
        InvoiceList invoices = new InvoicesApi(client).listInvoices(
            List.of(InvoiceStatus.PAID), customer.getId(), null, null, null, null, null, null, null, null, null);
        expect(invoices.getData().size() == 2, "two paid invoices were expected");

        TransactionList transactions = new TransactionsApi(client).listTransactions(
            null, null, null, null, customer.getId(), null, null, null, null, null, null, null);
        Refund refund = new RefundsApi(client).createRefund(
            new RefundCreate().transaction(transactions.getData().get(0).getId()).amount(2000), null);
        expect(refund.getStatus() == RefundStatus.PROCESSING, "the refund is not processing");

        try {
            customers.getCustomer("cust_000000000000000000000000");
            expect(false, "an error was expected");
        } catch (ApiException problem) {
            ApiError error = client.getObjectMapper().readValue(problem.getResponseBody(), ApiError.class);
            expect(error.getCode() == ErrorCode.CUSTOMER_NOT_FOUND, "CUSTOMER_NOT_FOUND was expected");
        }
    }

    /** Does what no client of the service can: pays as a buyer would, and moves the clock. */
    private static void control(String url, String body) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(URI.create(url))
            .header("Authorization", "Bearer " + KEY)
            .header("Content-Type", "application/json")
            .POST(HttpRequest.BodyPublishers.ofString(body))
            .build();
        HttpResponse<String> answer = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
        expect(answer.statusCode() == 200, answer.body());
    }

    private static void expect(boolean fact, String otherwise) {
        if (!fact) {
            throw new IllegalStateException(otherwise);
        }
    }

    private Story() {}
}
