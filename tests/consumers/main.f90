! SPDX-License-Identifier: Apache-2.0
module decay
  use, intrinsic :: iso_c_binding
contains
  integer(c_int) function step(state, i, user) bind(c)
    type(c_ptr), value :: state, user
    integer(c_int64_t), value :: i
    real(c_double), pointer :: x
    call c_f_pointer(state, x)
    x = 0.999d0 * x
    step = 0
  end function
  integer(c_int) function adjoint(state, bar, i, user) bind(c)
    type(c_ptr), value :: state, bar, user
    integer(c_int64_t), value :: i
    real(c_double), pointer :: b
    call c_f_pointer(bar, b)
    b = 0.999d0 * b
    adjoint = 0
  end function
end module

program main
  use cairn_loop
  use decay
  implicit none
  type(cairn_loop_t) :: loop
  type(cairn_report_t) :: report
  real(c_double), target :: x0 = 1, bar = 1
  loop%steps = 1000
  loop%slots = 8
  loop%state_bytes = c_sizeof(x0)
  loop%step = c_funloc(step)
  loop%adjoint = c_funloc(adjoint)
  if (cairn_gradient(loop, c_loc(x0), c_loc(bar), report) /= cairn_ok) error stop cairn_message(report)
  print '(a, g0.15)', 'gradient ', bar
  if (abs(bar - 0.999d0**1000) > 1d-12) error stop 1
end program
