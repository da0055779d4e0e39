// SPDX-License-Identifier: Apache-2.0
package android.os;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;

public final class Bundle {
  private final Map<String, Object> values = new LinkedHashMap<>();

  public void put(String key, Object value) {
    values.put(key, value);
  }

  public Object get(String key) {
    return values.get(key);
  }

  public boolean getBoolean(String key, boolean byDefault) {
    Object value = values.get(key);
    return value instanceof Boolean ? (Boolean) value : byDefault;
  }

  public Set<String> keySet() {
    return values.keySet();
  }
}
