// What cairn::compiled is made of.
#include <cairn/impl/src.hpp>
