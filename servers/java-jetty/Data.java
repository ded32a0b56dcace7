import java.util.HashMap;
import java.util.List;
import java.util.Map;
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

    /** A map, which Jetty's JSON writes and reads; of a record it would write toString(). */
    static Map<String, Object> account() {
        var account = new HashMap<String, Object>();
        account.put("id", 4711);
        account.put("name", "Ada Example");
        account.put("email", "ada@example.org");
        account.put("city", "Z\u00fcrich");
        account.put("active", true);
        account.put("balance", 1250.75);
        account.put("note", null);
        account.put("created", "2026-11-22T10:30:00Z");
        account.put("items", IntStream.rangeClosed(1, 10)
            .mapToObj(n -> Map.of("id", n, "name", "Item " + n, "price", n + 0.25)).toList());
        return account;
    }
}
