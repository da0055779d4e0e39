// SPDX-License-Identifier: Apache-2.0
// lagwatch for Android, as a library module: see docs/android.md.
plugins {
    id("com.android.library")
}

android {
    namespace = "org.lagwatch"
    compileSdk = 34
    ndkVersion = "26.3.11579264"

    defaultConfig {
        minSdk = 21
        consumerProguardFiles("consumer-rules.pro")
        ndk {
            abiFilters += listOf("arm64-v8a", "x86_64")
        }
        externalNativeBuild {
            cmake {
                // vcpkg's folder "installed", with curl, OpenSSL, zlib, liblzma, nlohmann-json and protozero for Android.
                arguments += "-DANDROID_STL=c++_static"
                (findProperty("lagwatch.dependencies") as String?)?.let { arguments += "-DLAGWATCH_DEPENDENCIES=$it" }
            }
        }
    }
    externalNativeBuild {
        cmake {
            path = file("src/main/cpp/CMakeLists.txt")
            version = "3.31.1"
        }
    }
    compileOptions {
        sourceCompatibility = JavaVersion.VERSION_1_8
        targetCompatibility = JavaVersion.VERSION_1_8
    }
}
