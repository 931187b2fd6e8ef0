#include <vector>

#include "tandem/op/groups.h"
#include "tandem/op/linalg_records.h"
#include "tandem/op/network_records.h"
#include "tandem/op/special.h"

namespace tandem {

std::span<const OpDef* const> op_list() {
  static const std::vector<const OpDef*> list = [] {
    std::vector<const OpDef*> all;
    for (OpGroup group : {
             arithmetic_ops(),      rounding_ops(),   trigonometric_ops(), special_ops(),   activation_ops(),
             more_activation_ops(), comparison_ops(), bitwise_ops(),       reduction_ops(), scan_ops(),
             linear_ops(),          linalg_ops(),     convolution_ops(),   pooling_ops(),   normalization_ops(),
             attention_ops(),       recurrent_ops(),  resizing_ops(),      loss_ops(),      objective_ops(),
             shape_ops(),           moving_ops(),     selection_ops(),     scatter_ops(),   sorting_ops(),
             creation_ops(),        training_ops(),
         })
      all.insert(all.end(), group.begin(), group.end());
    return all;
  }();
  return list;
}

const OpDef* find_op(std::string_view name) {
  for (const OpDef* op : op_list())
    if (op->name == name) return op;
  return nullptr;
}

}  // namespace tandem
