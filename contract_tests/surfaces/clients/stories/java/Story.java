import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.CustomersApi;
import org.openapitools.client.model.Customer;
import org.openapitools.client.model.CustomerCreate;

/** The client makes, finds and misses a customer at the URL that it is given. */
final class Story {
    public static void main(String[] arguments) throws ApiException {
        var client = new ApiClient();
        client.updateBaseUri(arguments[0] + "/v1");
        client.setRequestInterceptor(
            request -> request.header("Authorization", "Bearer sk_test_generated_java"));
        var customers = new CustomersApi(client);
        var body = new CustomerCreate().email("awa@example.com").name("Awa Diop");
        Customer made = customers.createCustomer(body, null);
        check(made.getCreatedAt().getYear() > 2000);
        var all = customers.listCustomers(null, null, null, null, null);
        check(all.getData().get(0).equals(made));
        try {
            customers.getCustomer("cust_nothing");
            check(false);
        } catch (ApiException error) {
            check(error.getCode() == 404);
        }
    }

    static void check(boolean holds) {
        if (!holds) throw new AssertionError();
    }
}
