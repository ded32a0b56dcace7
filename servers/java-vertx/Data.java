import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.stream.IntStream;

/** What the workloads json and page answer with. */
class Data {
    record Row(int number, String name, String note, String text) {}

    static final List<String> NOTES = List.of(
        "plain", "<script>alert(\"x\")</script>", "fish & chips", "it's \"quoted\"", "a < b > c");
    static final String TEXT =
        "Packed by hand on the day it came in, checked twice, and sent with the early van. "
        + "Leave it with a neighbor if nobody is at home, and ring the old bell before you go; "
        + "the gate sticks in wet weather. Keep it dry and upright, and return the empty box.";
    static final List<Row> ROWS = IntStream.rangeClosed(1, 200)
        .mapToObj(n -> new Row(n, "Item " + n, NOTES.get(n % 5), TEXT)).toList();

    static JsonObject account() {
        var items = new JsonArray();
        for (int n = 1; n <= 10; n++) {
            items.add(new JsonObject().put("id", n).put("name", "Item " + n).put("price", n + 0.25));
        }
        return new JsonObject().put("id", 4711).put("name", "Ada Example")
            .put("email", "ada@example.org").put("city", "Z\u00fcrich").put("active", true)
            .put("balance", 1250.75).putNull("note").put("created", "2026-11-22T10:30:00Z")
            .put("items", items);
    }
}
