import java.util.List;
import java.util.stream.IntStream;

/** What the workloads json, echo, page and db answer with. */
class Data {
    record Item(int id, String name, double price) {}

    record Account(int id, String name, String email, String city, boolean active, double balance,
        String note, String created, List<Item> items) {}

    record Sender(String name, String city) {}

    record Message(long id, boolean seen, Sender sender, List<String> tags, double score,
        Long parent, String text) {
        Message read() {
            return new Message(id, true, sender, tags, score, parent, text);
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

    static Account account() {
        var items = IntStream.rangeClosed(1, 10).mapToObj(n -> new Item(n, "Item " + n, n + 0.25)).toList();
        return new Account(4711, "Ada Example", "ada@example.org", "Z\u00fcrich", true, 1250.75, null,
            "2026-11-22T10:30:00Z", items);
    }
}
