import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/** A client of the payments service. */
final class Payments {
    /** An error that the service answered. */
    static final class ApiError extends RuntimeException {
        private static final long serialVersionUID = 1;
        final int status;

        ApiError(HttpRequest request, int status) {
            super(request.method() + " " + request.uri().getPath() + ": " + status);
            this.status = status;
        }
    }

    long[] pauses = {1000, 2000, 4000}; // milliseconds before each further attempt at a request

    Duration timeout = Duration.ofSeconds(10);

    private final HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private final String url;
    private final String key;

    Payments(String url, String key) {
        this.url = url;
        this.key = key;
    }

    Map<String, Object> get(String path) {
        return call("GET", path, null, "");
    }

    /** The objects of a list. */
    @SuppressWarnings("unchecked") // a list has objects
    List<Map<String, Object>> list(String path) {
        return (List<Map<String, Object>>) get(path).get("data");
    }

    Map<String, Object> post(String path, Map<String, ?> body) {
        return call("POST", path, body, UUID.randomUUID().toString());
    }

    /** The answer to a request, which is sent again, as the same one, if it is not known whether it was done. */
    Map<String, Object> call(String method, String path, Map<String, ?> body, String idempotencyKey) {
        HttpRequest.Builder builder = HttpRequest.newBuilder(URI.create(url + path))
                .timeout(timeout)
                .header("Authorization", "Bearer " + key)
                .header("Content-Type", "application/json")
                .method(method, body == null ? BodyPublishers.noBody() : BodyPublishers.ofString(Json.write(body)));
        if (!idempotencyKey.isEmpty()) builder.header("Idempotency-Key", idempotencyKey);
        HttpRequest request = builder.build();
        for (int attempt = 0; ; attempt++) {
            RuntimeException failure;
            long wait = attempt < pauses.length ? pauses[attempt] : 0;
            try {
                HttpResponse<byte[]> answer = client.send(request, BodyHandlers.ofByteArray());
                if (answer.statusCode() < 300) return object(answer.body());
                failure = new ApiError(request, answer.statusCode());
                if (answer.statusCode() < 500 && answer.statusCode() != 429) throw failure;
                wait = answer.headers().firstValueAsLong("Retry-After").orElse(wait / 1000) * 1000;
            } catch (IOException | IllegalArgumentException error) {
                failure = new IllegalStateException(request.method() + " " + request.uri() + ": " + error, error);
            } catch (InterruptedException error) {
                throw new IllegalStateException(error);
            }
            if (attempt == pauses.length) throw failure;
            sleep(wait);
        }
    }

    private static void sleep(long milliseconds) {
        try {
            Thread.sleep(milliseconds);
        } catch (InterruptedException error) {
            throw new IllegalStateException(error);
        }
    }

    /** A JSON object. Throws IllegalArgumentException for any other text. */
    static Map<String, Object> object(byte[] text) {
        return inner(Json.read(new String(text, StandardCharsets.UTF_8)));
    }

    /** A value that is an object. Throws IllegalArgumentException where it is not. */
    @SuppressWarnings("unchecked") // names are always strings
    static Map<String, Object> inner(Object value) {
        if (value instanceof Map<?, ?> map) return (Map<String, Object>) map;
        throw new IllegalArgumentException("no object");
    }
}
