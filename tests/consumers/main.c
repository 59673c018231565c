/* SPDX-License-Identifier: Apache-2.0 */
#include <cairn/c/cairn_loop.h>
#include <math.h>
#include <stdio.h>

static int step(void *state, int64_t i, void *user) {
  *(double *)state *= 0.999;
  return (void)i, (void)user, 0;
}
static int adjoint(void const *state, void *bar, int64_t i, void *user) {
  *(double *)bar *= 0.999;
  return (void)state, (void)i, (void)user, 0;
}

int main(void) {
  cairn_loop loop = {.steps = 1000, .slots = 8, .state_bytes = sizeof(double), .step = step, .adjoint = adjoint};
  cairn_report report;
  double x0 = 1, bar = 1;
  if (cairn_gradient(&loop, &x0, &bar, &report) != CAIRN_OK) return puts(report.message), 1;
  printf("gradient %.17g\n", bar);
  return fabs(bar - pow(0.999, 1000)) < 1e-12 ? 0 : 1;
}
