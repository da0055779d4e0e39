// SPDX-License-Identifier: Apache-2.0
// A web server on Express, one of whose handlers sorts for too long.
const express = require("express");

const orders = Array.from({ length: 600000 }, (_, id) => ({ id, city: String((id * 7919) % 600000) }));

function byCity() {
  return [...orders].sort((a, b) => a.city.localeCompare(b.city, "de")); // FREEZE byCity
}

const application = express();
application.get("/", (request, response) => response.json(orders.slice(0, 100)));
application.get("/freeze", (request, response) => response.json(byCity().slice(0, 10)));
application.listen(Number(process.argv[2]), "127.0.0.1");
