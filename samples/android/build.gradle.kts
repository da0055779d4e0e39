// SPDX-License-Identifier: Apache-2.0
plugins {
    id("com.android.application") version "8.5.2" apply false
    id("com.android.library") version "8.5.2" apply false
}
