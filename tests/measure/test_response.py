import pytest

from deadheat.measure.response import read_responses

PLAIN = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nHello"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nHe\r\n3\r\nllo\r\n0\r\n\r\n"
TO_THE_END = b"HTTP/1.0 200 OK\r\nServer: old\r\n\r\nHello"


def test_reads_response_with_content_length() -> None:
    (response,) = read_responses(PLAIN)
    assert (response.version, response.status, response.body) == (11, 200, b"Hello")
    assert response.framing == "content-length"
    assert response.headers == {"content-type": "text/plain", "content-length": "5"}
    assert response.head_bytes == len(PLAIN) - len(b"Hello")


def test_reads_chunked_response() -> None:
    (response,) = read_responses(CHUNKED)
    assert (response.framing, response.body) == ("chunked", b"Hello")
    assert response.head_bytes == CHUNKED.index(b"2\r\n")


def test_reads_response_that_ends_with_its_connection() -> None:
    (response,) = read_responses(TO_THE_END)
    assert (response.version, response.framing, response.body) == (10, "close", b"Hello")


def test_reads_pipelined_responses_in_order() -> None:
    responses = read_responses(CHUNKED + PLAIN + PLAIN.replace(b"Hello", b"Again"))
    assert [response.body for response in responses] == [b"Hello", b"Hello", b"Again"]


def test_skips_interim_responses() -> None:
    (response,) = read_responses(b"HTTP/1.1 100 Continue\r\n\r\n" + PLAIN)
    assert response.status == 200


def test_response_to_head_has_no_body() -> None:
    empty = PLAIN.removesuffix(b"Hello")
    (response,) = read_responses(empty, "HEAD")
    assert (response.body, response.head_bytes) == (b"", len(empty))


def test_body_after_head_is_not_a_second_response() -> None:
    (response,) = read_responses(PLAIN, "HEAD")
    assert response.head_bytes < len(PLAIN)


@pytest.mark.parametrize(
    "received",
    [
        b"",
        b"\r\n",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"\x00\xff" * 400,
        b"HTTP/1.1 OK\r\n\r\n",
        b"HTTP/1.1 2000 OK\r\n\r\n",
        b"HTTP/9.9 200 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nHello",
        CHUNKED[:-9],
        CHUNKED.replace(b"2\r\n", b"zz\r\n"),
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200 + b"\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * 70_000 + b"\r\n\r\n",
    ],
)
def test_rejects_malformed_or_incomplete_responses(received: bytes) -> None:
    assert read_responses(received) == []


def test_stops_at_malformed_data() -> None:
    assert len(read_responses(PLAIN + b"garbage\r\n\r\n" + PLAIN)) == 1
