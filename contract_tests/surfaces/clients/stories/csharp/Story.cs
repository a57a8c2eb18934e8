using System;
using Org.OpenAPITools.Api;
using Org.OpenAPITools.Client;
using Org.OpenAPITools.Model;

/// The client makes, finds and misses a customer at the URL that it is given.
static class Story
{
    static void Main(string[] args)
    {
        var configuration = new Configuration
        {
            BasePath = args[0] + "/v1",
            AccessToken = "sk_test_generated_csharp",
        };
        var customers = new CustomersApi(configuration);
        var body = new CustomerCreate(email: "awa@example.com", name: "Awa Diop");
        var made = customers.CreateCustomer(body);
        Check(made.CreatedAt.Year > 2000);
        Check(customers.ListCustomers().Data[0].Id == made.Id);
        try
        {
            customers.GetCustomer("cust_nothing");
            Check(false);
        }
        catch (ApiException error)
        {
            Check(error.ErrorCode == 404);
        }
    }

    static void Check(bool holds)
    {
        if (!holds) throw new InvalidOperationException();
    }
}
