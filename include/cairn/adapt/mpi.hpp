// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file mpi.hpp  Sweeps that the ranks of an MPI communicator run together: one plan on all ranks, and no rank that
/// waits for one that has failed. Component `mpi`.
#include <cairn/language.hpp>  // first: an older language gets its message

#include <cairn/adapt/mpi/check_adjoint.hpp>
#include <cairn/adapt/mpi/collective.hpp>
#include <cairn/adapt/mpi/collective_error.hpp>
#include <cairn/adapt/mpi/loop.hpp>
#include <cairn/adapt/mpi/mpi_plan.hpp>
#include <cairn/adapt/mpi/node.hpp>
#include <cairn/adapt/mpi/while.hpp>
