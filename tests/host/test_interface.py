"""The network interface on the way to another host, from texts of the kernel and from it."""

import pytest

from deadheat.host.agent.network import affinity, cpus_in, interrupts, route_to
from deadheat.host.fingerprint import Interface
from deadheat.host.local import LocalHost

ROUTES = """\
Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
eth0\t00000000\t0101A8C0\t0003\t0\t0\t100\t00000000\t0\t0\t0
eth1\t000AA8C0\t00000000\t0001\t0\t0\t200\t00FFFFFF\t0\t0\t0
wlan0\t000AA8C0\t00000000\t0001\t0\t0\t600\t00FFFFFF\t0\t0\t0
tun0\t0A0AA8C0\t00000000\t0005\t0\t0\t0\tFFFFFFFF\t0\t0\t0
down0\t0B0AA8C0\t00000000\t0000\t0\t0\t0\tFFFFFFFF\t0\t0\t0
"""
INTERRUPTS = """\
           CPU0       CPU1       CPU3
 38:          0     287873          5  PCI-MSIX-0000:00:03.0   1-edge      eth1-rx-0
 39:          0          0          7  PCI-MSIX-0000:00:03.0   2-edge      eth1-tx-0
 40:      24149          0          0  PCI-MSIX-0000:00:04.0   1-edge      eth10-rx-0
 41:          9          9          9  PCI-MSIX-0000:00:04.0   1-edge      veth1
LOC:   13486005   16955518          0  Local timer interrupts
"""


@pytest.mark.parametrize(
    ("address", "name"),
    [("192.168.10.10", "tun0"), ("192.168.10.11", "eth1"), ("192.168.11.1", "eth0")],
)
def test_the_most_specific_route_that_is_up_names_the_interface(address: str, name: str) -> None:
    assert route_to(ROUTES, address) == name
    assert route_to(ROUTES.splitlines()[0], address) is None


def test_counts_the_interrupts_of_an_interface_and_of_no_other() -> None:
    served, _ = interrupts(INTERRUPTS, "eth1", bus="")
    assert served == {"1": 287873, "3": 12}
    assert interrupts(INTERRUPTS, "cable", bus="") == ({}, [])


def test_reads_lists_of_cpus() -> None:
    assert [*cpus_in("2-4"), *cpus_in("7")] == [2, 3, 4, 7]
    assert affinity(999_999) == set(), "no such interrupt"


def test_loopback_has_no_driver_and_no_interrupts() -> None:
    with LocalHost() as host:
        interface = host.interface_to("127.0.0.1")
        assert host.local_address("127.0.0.1") == "127.0.0.1"
    assert interface is not None
    assert interface["mtu_bytes"] > 1000
    assert (interface["driver"], interface["interrupts"]) == (None, {})


def test_the_cpus_that_served_interrupts_are_those_whose_count_rose() -> None:
    reading = {
        "driver": "made",
        "mtu_bytes": 9000,
        "offloads": {"tso": True},
        "interrupts": {"0": 5, "1": 7},
        "interrupt_targets": [1],
    }
    later = {**reading, "interrupts": {"0": 5, "1": 9, "10": 1}}
    interface = Interface.of(reading, later)
    assert interface is not None
    assert interface.interrupt_cpus == (1, 10)
    assert interface.interrupt_targets == (1,)
    assert Interface.of(None, later) is None
