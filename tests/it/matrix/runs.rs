//! The runs. Each is a pair of programs, and checks every link that `docs/compatibility.md` says they have in common.

use super::group::Pair;
use super::sides::Program;

async fn run(client: Program, server: Program) {
    Pair { client, server }.run().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ours_to_ours() {
    run(Program::Ours, Program::Ours).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ours_to_sing_box() {
    run(Program::Ours, Program::SingBox).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sing_box_to_ours() {
    run(Program::SingBox, Program::Ours).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ours_to_mihomo() {
    run(Program::Ours, Program::Mihomo).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mihomo_to_ours() {
    run(Program::Mihomo, Program::Ours).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ours_to_v2ray() {
    run(Program::Ours, Program::V2ray).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn v2ray_to_ours() {
    run(Program::V2ray, Program::Ours).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ours_to_shadowsocks_libev() {
    run(Program::Ours, Program::Libev).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shadowsocks_libev_to_ours() {
    run(Program::Libev, Program::Ours).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ours_to_trojan() {
    run(Program::Ours, Program::Trojan).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn trojan_to_ours() {
    run(Program::Trojan, Program::Ours).await;
}

/// Any two programs, by hand: `MATRIX_PAIR=mihomo:sing-box` shows what peers do among themselves, `MATRIX_PAIR=etemenanki:Xray`
/// with `XRAY_BIN` runs against an Xray. `MATRIX_ONLY=vless-ws` keeps the links whose tag contains that.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pair_by_hand() {
    let asked = std::env::var("MATRIX_PAIR").unwrap_or_default();
    for program in Program::ALL {
        assert_eq!(Program::called(program.name()), Some(program));
    }
    if let Some((client, server)) = asked.split_once(':') {
        let known = |name| Program::called(name).unwrap_or_else(|| panic!("no program {name}"));
        run(known(client), known(server)).await;
    }
}
