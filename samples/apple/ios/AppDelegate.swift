// SPDX-License-Identifier: Apache-2.0
import LagWatch
import UIKit

@main
class AppDelegate: UIResponder, UIApplicationDelegate {
  func application(
    _ application: UIApplication,
    didFinishLaunchingWithOptions launchOptions: [UIApplication.LaunchOptionsKey: Any]?
  ) -> Bool {
    let options = LagWatch.Options()
    options.endpoint = "https://lagwatch.example.com"
    options.key = "k_0123456789abcdef0123456789abcdef"
    options.userRatePpm = 1_000_000  // while you try it out: all users send reports
    options.set("1500", for: "warm_start_ms")
    if !LagWatch.Monitor.start(options) { print("lagwatch is off: \(LagWatch.Monitor.whyOff())") }
    return true
  }
}
