// SPDX-License-Identifier: Apache-2.0
pluginManagement {
    repositories {
        google()
        mavenCentral()
    }
}
dependencyResolutionManagement {
    repositories {
        google()
        mavenCentral()
    }
}
rootProject.name = "lagwatch-sample"
include(":app", ":lagwatch")
project(":lagwatch").projectDir = file("../../sdk/android")
