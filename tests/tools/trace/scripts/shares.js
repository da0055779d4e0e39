// SPDX-License-Identifier: Apache-2.0
// Two functions that share the processor 1 to 3. Prints heavy's share of the time.
function light() {
  let total = 0;
  for (let i = 0; i < 200000; i++) total += (i * i) % 7;
  return total;
}

function heavy() {
  let total = 0;
  for (let i = 0; i < 600000; i++) total += (i * i) % 7;
  return total;
}

function timed(work) {
  const begin = process.hrtime.bigint();
  work();
  return Number(process.hrtime.bigint() - begin) / 1e9;
}

const seconds = Number(process.argv[2]);
let lightS = 0;
let heavyS = 0;
while (lightS + heavyS < seconds) {
  lightS += timed(light);
  heavyS += timed(heavy);
}
console.log(heavyS / (lightS + heavyS));
