import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Scanner;

/** One delivery a line: method, endpoint, header, body and time; a line with 1 or 0 for each. */
final class Main {
    public static void main(String[] arguments) throws Exception {
        var decoder = Base64.getDecoder();
        for (var lines = new Scanner(System.in); lines.hasNextLine(); ) {
            String[] parts = lines.nextLine().split("\t", -1);
            String header = new String(decoder.decode(parts[2]), StandardCharsets.UTF_8);
            boolean genuine = Signatures.isGenuine(
                parts[0], parts[1], arguments[0], header, decoder.decode(parts[3]),
                Long.parseLong(parts[4]));
            System.out.println(genuine ? 1 : 0);
        }
    }
}
