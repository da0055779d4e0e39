// SPDX-License-Identifier: Apache-2.0
import { useEffect } from "preact/hooks";

export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · lagwatch`;
  }, [title]);
}
