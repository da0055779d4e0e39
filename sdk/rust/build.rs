// SPDX-License-Identifier: Apache-2.0
//! Links liblagwatch.so.0. LAGWATCH_LIB_DIR is the folder of liblagwatch.so, if it is not the system's; the programs and tests
//! of this package then find it there when they run. A package that depends on this one gets the folder as DEP_LAGWATCH_LIB_DIR.
fn main() {
    println!("cargo:rerun-if-env-changed=LAGWATCH_LIB_DIR");
    println!("cargo:rustc-link-lib=dylib=lagwatch");
    if let Ok(folder) = std::env::var("LAGWATCH_LIB_DIR") {
        println!("cargo:rustc-link-search=native={folder}");
        println!("cargo:rustc-link-arg=-Wl,-rpath,{folder}");
        println!("cargo:lib_dir={folder}");
    }
}
