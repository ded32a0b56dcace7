//! Limits that need a network namespace: `cargo test --test namespaces -- --ignored`.

use std::process::Command;

use serde_json::Value;

/// Runs the engine in a namespace with five ports, against a null server there.
#[test]
#[ignore = "needs the right to make a network namespace"]
fn running_out_of_ports_is_the_clients_limit() {
    let program = env!("CARGO_BIN_EXE_deadheat-load");
    let script = format!(
        "ip link set lo up && echo '50000 50004' > /proc/sys/net/ipv4/ip_local_port_range &&
         {{ '{program}' --null-server 4000 & }} 2> /dev/null
         until ss -ltn | grep -q :4000 || ! kill -0 $!; do :; done
         '{program}' http://127.0.0.1:4000/ -c 12 -d 200ms --warmup 0s --json
         code=$?; kill $!; exit $code"
    );
    let output = Command::new("unshare").args(["-rn", "sh", "-c", &script]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().find(|line| line.contains("schema")).unwrap_or_else(|| {
        panic!("{text}{}", String::from_utf8_lossy(&output.stderr));
    });
    let document: Value = serde_json::from_str(line).unwrap();
    let count = |class: &str| document["classes"][class].as_u64().unwrap();
    let established = document["connections"]["established"].as_u64().unwrap();
    assert!((1..=5).contains(&established), "{established} connections on five ports");
    assert!(count("ok") > 0 && count("addr_not_avail") > 0, "{}", document["classes"]);
    assert_eq!(count("ok") + count("addr_not_avail"), document["requests"]["scheduled"]);
    let codes: Vec<&str> = document["limits"]
        .as_array()
        .unwrap()
        .iter()
        .map(|limit| limit["code"].as_str().unwrap())
        .collect();
    assert!(codes.contains(&"client_resources"), "{codes:?}");
    assert_eq!(output.status.code(), Some(4));
}
