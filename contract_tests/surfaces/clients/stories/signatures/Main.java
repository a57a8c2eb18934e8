// One delivery a line: method, endpoint, header, body and time; a line with 1 or 0 for each.
import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.Base64;
import java.util.Scanner;

final class Main {
    public static void main(String[] arguments) throws Exception {
        Base64.Decoder decoder = Base64.getDecoder();
        Scanner lines = new Scanner(System.in, UTF_8).useDelimiter("\n");
        while (lines.hasNext()) {
            String[] parts = lines.next().split("\t", -1);
            String header = new String(decoder.decode(parts[2]), UTF_8);
            byte[] body = decoder.decode(parts[3]);
            boolean genuine = Signatures.isGenuine(parts[0], parts[1], arguments[0], header, body, Long.parseLong(parts[4]));
            System.out.println(genuine ? 1 : 0);
        }
    }

    private Main() {}
}
