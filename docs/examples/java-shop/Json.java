import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** JSON as maps, lists, strings, numbers and booleans, for a shop without dependencies. */
final class Json {
    private final String text;
    private int at;

    private Json(String text) {
        this.text = text;
    }

    /** The value of a text. Throws IllegalArgumentException for a text that is not JSON. */
    static Object read(String text) {
        try {
            Json json = new Json(text);
            Object value = json.value();
            json.space();
            if (json.at < text.length()) throw new IllegalArgumentException("no JSON");
            return value;
        } catch (IndexOutOfBoundsException | StackOverflowError error) {
            throw new IllegalArgumentException("no JSON", error);
        }
    }

    /** The text of a value. */
    static String write(Object value) {
        if (value instanceof Map<?, ?> map) {
            return map.entrySet().stream()
                    .map(each -> write(each.getKey()) + ":" + write(each.getValue()))
                    .collect(Collectors.joining(",", "{", "}"));
        }
        if (value instanceof List<?> list) {
            return list.stream().map(Json::write).collect(Collectors.joining(",", "[", "]"));
        }
        return value instanceof String string ? quoted(string) : String.valueOf(value);
    }

    private static String quoted(String string) {
        StringBuilder quoted = new StringBuilder("\"");
        for (char letter : string.toCharArray()) {
            boolean plain = letter >= ' ' && letter != '"' && letter != '\\';
            quoted.append(plain ? String.valueOf(letter) : String.format("\\u%04x", (int) letter));
        }
        return quoted.append('"').toString();
    }

    private Object value() {
        space();
        switch (text.charAt(at)) {
            case '{':
                Map<String, Object> map = new LinkedHashMap<>();
                for (at++; !ends('}'); skip(',')) {
                    space();
                    String name = string();
                    space();
                    expect(':');
                    map.put(name, value());
                }
                return map;
            case '[':
                List<Object> list = new ArrayList<>();
                for (at++; !ends(']'); skip(',')) list.add(value());
                return list;
            case '"':
                return string();
            default:
                return literal();
        }
    }

    private Object literal() {
        int start = at;
        while (at < text.length() && ",]} \n\r\t".indexOf(text.charAt(at)) < 0) at++;
        String word = text.substring(start, at);
        return switch (word) {
            case "null" -> null;
            case "true" -> true;
            case "false" -> false;
            default -> word.matches("-?\\d{1,18}") ? (Object) Long.valueOf(word) : Double.valueOf(word);
        };
    }

    private String string() {
        expect('"');
        StringBuilder read = new StringBuilder();
        for (char letter = text.charAt(at++); letter != '"'; letter = text.charAt(at++)) {
            read.append(letter == '\\' ? escaped() : letter);
        }
        return read.toString();
    }

    private char escaped() {
        char letter = text.charAt(at++);
        if (letter != 'u') return "bfnrt".indexOf(letter) < 0 ? letter : "\b\f\n\r\t".charAt("bfnrt".indexOf(letter));
        at += 4;
        return (char) Integer.parseInt(text.substring(at - 4, at), 16);
    }

    private boolean ends(char bracket) {
        space();
        boolean ended = text.charAt(at) == bracket;
        if (ended) at++;
        return ended;
    }

    private void skip(char comma) {
        space();
        if (text.charAt(at) == comma) at++;
    }

    private void expect(char letter) {
        if (text.charAt(at++) != letter) throw new IllegalArgumentException("no JSON");
    }

    private void space() {
        while (at < text.length() && Character.isWhitespace(text.charAt(at))) at++;
    }
}
