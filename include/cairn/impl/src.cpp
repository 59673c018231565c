// The one source file of cairn::compiled.
#include <cairn/impl/src.hpp>
