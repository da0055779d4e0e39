// SPDX-License-Identifier: Apache-2.0
// A table of orders in Swing, whose import parses for too long on the event thread. Clients press its buttons.
import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.util.*;
import javax.swing.*;
import javax.swing.table.DefaultTableModel;

public class OrdersSwing {
  static final DefaultTableModel orders = new DefaultTableModel(new String[] {"order", "total"}, 0);
  static final JButton refresh = new JButton("refresh");
  static final JButton load = new JButton("import");

  static long totalOf(String text) {
    long total = 0;
    for (int round = 0; round < 6000; round++) {
      for (String part : text.split(";")) { // FREEZE totalOf
        total += Long.parseLong(part.trim());
      }
    }
    return total;
  }

  static void importOrders() {
    String text = String.join("; ", Collections.nCopies(3000, "1234567"));
    orders.addRow(new Object[] {"imported", totalOf(text)});
  }

  static void show() {
    refresh.addActionListener(event -> orders.addRow(new Object[] {"order " + orders.getRowCount(), 1}));
    load.addActionListener(event -> importOrders());
    JFrame frame = new JFrame("orders");
    Box buttons = Box.createHorizontalBox();
    buttons.add(refresh);
    buttons.add(load);
    frame.add(buttons, "North");
    frame.add(new JScrollPane(new JTable(orders)));
    frame.setSize(400, 300);
    frame.setVisible(true);
  }

  static void serve(HttpServer server, String path, JButton button) {
    server.createContext(path, exchange -> {
      try {
        SwingUtilities.invokeAndWait(button::doClick);
      } catch (Exception error) {
        throw new IllegalStateException(error);
      }
      exchange.sendResponseHeaders(200, 0);
      exchange.getResponseBody().write("pressed".getBytes());
      exchange.close();
    });
  }

  public static void main(String[] arguments) throws Exception {
    SwingUtilities.invokeAndWait(OrdersSwing::show);
    HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(arguments[0])), 0);
    serve(server, "/", refresh);
    serve(server, "/freeze", load);
    server.start();
  }
}
