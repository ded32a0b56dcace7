import kotlinx.serialization.Serializable

/** What the workloads json, echo and page answer with. */
@Serializable
data class Item(val id: Int, val name: String, val price: Double)

@Serializable
data class Account(
    val id: Int, val name: String, val email: String, val city: String, val active: Boolean,
    val balance: Double, val note: String?, val created: String, val items: List<Item>,
)

@Serializable
data class Sender(val name: String, val city: String)

@Serializable
data class Message(
    val id: Long, val seen: Boolean, val sender: Sender, val tags: List<String>,
    val score: Double, val parent: Long?, val text: String,
)

class Row(val number: Int, val name: String, val note: String, val text: String)

val NOTES = listOf(
    "plain", "<script>alert(\"x\")</script>", "fish & chips", "it's \"quoted\"", "a < b > c",
)
const val TEXT =
    "Packed by hand on the day it came in, checked twice, and sent with the early van. " +
        "Leave it with a neighbor if nobody is at home, and ring the old bell before you go; " +
        "the gate sticks in wet weather. Keep it dry and upright, and return the empty box."
val ROWS = (1..200).map { Row(it, "Item $it", NOTES[it % 5], TEXT) }

fun account() = Account(
    4711, "Ada Example", "ada@example.org", "Zürich", true, 1250.75, null, "2026-11-22T10:30:00Z",
    (1..10).map { Item(it, "Item $it", it + 0.25) },
)
