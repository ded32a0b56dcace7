"""Statistics: pure functions on arrays, which import no other package of deadheat."""
