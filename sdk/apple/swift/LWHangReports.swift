// SPDX-License-Identifier: Apache-2.0
// Reads the hangs that MetricKit reports from iOS 27 and macOS 27 on (MetricManager, HangDiagnostic), in place of
// MXHangDiagnostic, and passes each on in the shape of an older payload, which LWHangDiagnostics.m reads. Has never run on a
// device: keep it small. Of Swift, as MetricManager is; LWSystem_apple.m finds it by the class's name.
import Foundation
// Came with the same SDKs as MetricManager: older ones cannot compile this file.
#if canImport(MetricKit) && canImport(StateReporting)
  import MetricKit

  @available(iOS 27.0, macCatalyst 27.0, macOS 27.0, visionOS 27.0, *)
  @objc(LWHangReports)
  public final class LWHangReports: NSObject {
    private static let manager = MetricManager()
    private static var reading: Task<Void, Never>?

    // Calls `deliver` with a payload for each hang, on any thread, until the process ends. Once in a process.
    @objc(startWithDelivery:)
    public static func start(deliver: @escaping @Sendable (NSDictionary) -> Void) {
      guard reading == nil else { return }
      reading = Task.detached(priority: .utility) {
        for await report in manager.diagnosticReports {
          switch report.result {
          case .hang(let hang): deliver(payload(of: hang, in: report))
          default: break
          }
        }
      }
    }

    private static func payload(of hang: HangDiagnostic, in report: DiagnosticReport) -> NSDictionary {
      let os = report.environment.osVersion
      let seconds = hang.hangDuration.converted(to: .seconds).value
      let facts: [String: Any] = [
        "hangDuration": String(format: "%.3f sec", locale: Locale(identifier: "en_US_POSIX"), seconds),
        "appVersion": report.environment.applicationVersion,
        "osVersion": "\(os.platform) \(os.number) (\(os.buildNumber))",
        "deviceType": report.environment.deviceType,
        "platformArchitecture": report.environment.platformArchitecture,
      ]
      return [
        "timeStampEnd": text(of: report.timeRange.end),
        "hangDiagnostics": [["diagnosticMetaData": facts, "callStackTree": stacks(of: hang.callStackTree)]],
      ]
    }

    private static func stacks(of tree: CallStackTree) -> [String: Any] {
      let stacks = tree.callStackThreads.map { thread -> [String: Any] in
        [
          "threadAttributed": thread.threadAttributed ?? false,
          "callStackRootFrames": thread.rootFrames.map { frame(of: $0, in: tree) },
        ]
      }
      return ["callStackPerThread": tree.callStackPerThread, "callStacks": stacks]
    }

    private static func frame(of frame: CallStackFrame, in tree: CallStackTree) -> [String: Any] {
      [
        "binaryName": frame.binaryName(from: tree) ?? "",
        "binaryUUID": frame.binaryUUID?.uuidString ?? "",
        "address": frame.address ?? 0,
        "offsetIntoBinaryTextSegment": frame.offsetIntoBinaryTextSegment ?? 0,
        "sampleCount": frame.sampleCount ?? 0,
        "subFrames": frame.subFrames.map { Self.frame(of: $0, in: tree) },
      ]
    }

    // As in a payload: "2026-08-21 09:08:24 +0000".
    private static func text(of date: Date) -> String {
      let format = DateFormatter()
      format.locale = Locale(identifier: "en_US_POSIX")
      format.timeZone = TimeZone(secondsFromGMT: 0)
      format.dateFormat = "yyyy-MM-dd HH:mm:ss '+0000'"
      return format.string(from: date)
    }
  }
#endif
