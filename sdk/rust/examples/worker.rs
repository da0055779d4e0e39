// SPDX-License-Identifier: Apache-2.0
//! A worker whose third job takes too long, and a part of its work past its deadline. Its argument is the spool directory.
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

#[inline(never)]
fn resize(ms: u64) {
    thread::sleep(Duration::from_millis(ms));
}

fn main() {
    let spool = std::env::args().nth(1).expect("a spool directory");
    let refused = lagwatch::Monitor::start(&[("no_such_option", "1")]).unwrap_err();
    assert_eq!(refused.to_string(), "lagwatch is off: no option no_such_option=1");
    let options = [("app", "worker"), ("threshold_ms", "400"), ("spool_directory", spool.as_str())];
    let _monitor = lagwatch::Monitor::start(&options).expect("lagwatch");
    drop(lagwatch::Monitor::start(&options).expect("the one that runs"));
    assert_eq!(lagwatch::why_off(), "");
    let (jobs, queue) = mpsc::channel();
    let worker = thread::spawn(move || {
        let worker_loop = lagwatch::Loop::watch(lagwatch::name!("jobs"));
        while let Ok(ms) = worker_loop.wait(|| queue.recv()) {
            worker_loop.dispatch(lagwatch::name!("resize"), || resize(ms));
        }
        worker_loop.wait(|| resize(600));
        worker_loop.scope(lagwatch::name!("import"), 200, || resize(1500));
    });
    for ms in [10, 20, 900, 10] {
        jobs.send(ms).expect("the worker");
    }
    drop(jobs);
    worker.join().expect("the worker");
}
