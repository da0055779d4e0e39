// SPDX-License-Identifier: Apache-2.0
plugins {
    id("com.android.application")
}

android {
    namespace = "org.lagwatch.sample"
    compileSdk = 34
    defaultConfig {
        applicationId = "org.lagwatch.sample"
        minSdk = 21
        targetSdk = 34
        versionCode = 1
        versionName = "1.0"
    }
    compileOptions {
        sourceCompatibility = JavaVersion.VERSION_1_8
        targetCompatibility = JavaVersion.VERSION_1_8
    }
}

dependencies {
    implementation(project(":lagwatch"))
}
