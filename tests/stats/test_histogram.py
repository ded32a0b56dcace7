import base64
import struct
import zlib

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram

from deadheat.stats.histogram import DIGITS, HIGHEST_US, LOWEST_US, merge, values_needed


def encoded(values_us: np.ndarray) -> str:
    histogram = HdrHistogram(LOWEST_US, HIGHEST_US, DIGITS)
    for value in values_us:
        histogram.record_value(int(value))
    return str(histogram.encode().decode())


def test_merged_quantiles_match_all_values() -> None:
    generator = np.random.default_rng(91)
    trials = [generator.lognormal(7, 1, size) for size in (4000, 9000)]
    latency = merge(encoded(trial) for trial in trials)
    everything = np.concatenate(trials).astype(int)
    assert latency.count == 13000
    for q in (0.5, 0.9, 0.99):
        assert latency.quantile_us(q) == pytest.approx(np.quantile(everything, q), rel=0.01)


def test_quantile_needs_100_values_beyond_it() -> None:
    assert values_needed(0.99) == pytest.approx(10_000)
    thousand = merge([encoded(np.full(1000, 250))])
    assert thousand.quantile_us(0.9) == 250
    assert thousand.quantile_us(0.99) is None
    with pytest.raises(ValueError, match="below 1"):
        thousand.quantile_us(1.0)


def test_mean_and_quantiles_match_hdrhistogram() -> None:
    values = np.random.default_rng(92).lognormal(9, 4, 5000).clip(1, HIGHEST_US)
    latency = merge([encoded(values), encoded(np.array([1, 2, 1023, 1024, 2047, 2048, 4097]))])
    assert latency.mean_us == latency.histogram.get_mean_value()
    empty = merge([])
    assert (empty.count, empty.mean_us, empty.quantile_us(0.5)) == (0, 0, None)
    for q in (0.001, 0.25, 0.5, 0.9, 0.975):
        assert latency.quantile_us(q) == latency.histogram.get_value_at_percentile(100 * q)


@pytest.mark.parametrize("text", ["", "not base64!", "AAAA", "HISTFAAAAC14nJNpmSzMwMDAzAABMJoRTM"])
def test_rejects_text_that_is_not_a_histogram(text: str) -> None:
    with pytest.raises(ValueError, match="not an HdrHistogram"):
        merge([text])


def payload(counts: bytes, digits: int = DIGITS, lowest: int = 1, highest: int = 2) -> str:
    """A histogram in base64 from its parts; counts are ZigZag LEB128."""
    inner = struct.pack(">IIIIQQd", 0x1C849313, len(counts), 0, digits, lowest, highest, 1.0)
    packed = zlib.compress(inner + counts)
    return base64.b64encode(struct.pack(">II", 0x1C849314, len(packed)) + packed).decode()


def test_merges_a_histogram_that_grew_less_than_others() -> None:
    """The engine's histograms grow with their values; their buckets are the same."""
    latency = merge([encoded(np.array([5000])), payload(b"\x00\x06")])  # 3 values of 1 us
    assert (latency.count, latency.max_us) == (4, 5003)
    assert latency.counts[1] == 3


@pytest.mark.parametrize(
    ("counts", "values"),
    [
        (50_000_000, {}),  # 3.5 GB before
        (1, {"digits": 5, "highest": 1 << 62}),  # 40 s to add before
        (1, {"lowest": 0}),
        (1, {"lowest": 1 << 40}),
        (200_000, {}),
    ],
)
def test_rejects_a_histogram_that_is_a_bomb(counts: int, values: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="not an HdrHistogram"):
        merge([payload(b"\x02" * counts, **values)])
