import jakarta.json.Json;
import jakarta.json.JsonBuilderFactory;
import jakarta.json.JsonObject;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/** What the workloads json, echo, page and db answer with. */
class Data {
    record Item(int id, String name, double price) {
        JsonObject json() {
            return JSON.createObjectBuilder().add("id", id).add("name", name).add("price", price).build();
        }
    }

    record Row(int number, String name, String note, String text) {}

    static final List<String> NOTES = List.of(
        "plain", "<script>alert(\"x\")</script>", "fish & chips", "it's \"quoted\"", "a < b > c");
    static final String TEXT =
        "Packed by hand on the day it came in, checked twice, and sent with the early van. "
        + "Leave it with a neighbor if nobody is at home, and ring the old bell before you go; "
        + "the gate sticks in wet weather. Keep it dry and upright, and return the empty box.";
    static final List<Row> ROWS = IntStream.rangeClosed(1, 200)
        .mapToObj(n -> new Row(n, "Item " + n, NOTES.get(n % 5), TEXT)).toList();

    private static final JsonBuilderFactory JSON = Json.createBuilderFactory(Map.of());

    static JsonObject account() {
        var items = JSON.createArrayBuilder();
        for (int n = 1; n <= 10; n++) {
            items.add(new Item(n, "Item " + n, n + 0.25).json());
        }
        return JSON.createObjectBuilder().add("id", 4711).add("name", "Ada Example")
            .add("email", "ada@example.org").add("city", "Z\u00fcrich").add("active", true)
            .add("balance", 1250.75).addNull("note").add("created", "2026-11-22T10:30:00Z")
            .add("items", items).build();
    }

    static JsonObject read(JsonObject message) {
        return JSON.createObjectBuilder(message).add("seen", true).build();
    }
}
