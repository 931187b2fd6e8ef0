// Images in other sizes, each new pixel between the four nearest ones; the gradient is an op of its own.
#include "tandem/op/network_ops.h"
#include "tandem/op/network_records.h"
#include "tandem/op/open_size.h"
#include "tandem/op/rules.h"

namespace tandem {
namespace {

/// [batch, height, width, channels] with `size` put in.
Shape resized_shape(const InferContext& c) {
  const auto size = c.attrs.ints("size");
  const Shape& images = c.shape(0);
  if (images.rank() != 4)
    fail(ErrorCode::shape_mismatch, c.op.name, ": needs images [batch, height, width, channels], got ", images);
  if (size.size() != 2 || size[0] < 1 || size[1] < 1)
    fail(ErrorCode::invalid_argument, c.op.name, ": size must be a height and a width, both positive, got ",
         Shape(size));
  if (images[1] < 1 || images[2] < 1)
    fail(ErrorCode::invalid_argument, c.op.name, ": needs images with at least one pixel, got ", images);
  for (const std::int64_t side : {size[0], size[1], images[1], images[2]})
    if (!is_open(side) && side > kLargestImageSide)
      fail(ErrorCode::invalid_argument, c.op.name, ": height and width are at most ", kLargestImageSide, ", got ",
           side);
  return {images[0], size[0], size[1], images[3]};
}

Tensor resized(const OpDef& op, const Tensor& x, std::int64_t height, std::int64_t width) {
  return apply(op, {x}, make_attrs(op, Ints{height, width}));
}

constexpr AttrDef kSize{.name = "size", .kind = AttrKind::ints};

}  // namespace

const OpDef resize_bilinear_op{
    .name = "resize_bilinear",
    .doc =
        "Images [batch, height, width, channels] in another size, each pixel between the four nearest ones; pixels lie "
        "at their middle.",
    .inputs = {"images"},
    .attrs = {kSize},
    .dtypes = kFloating,
    .infer = [](const InferContext& c) { return Specs{{c.dtype(0), resized_shape(c)}}; },
    .grad =
        [](GradContext& g) {
          return Tensors{resized(resize_bilinear_grad_op, g.output_grad(), g.shape(0)[1], g.shape(0)[2])};
        },
    .flops_per_element = 12,
};

const OpDef resize_bilinear_grad_op{
    .name = "resize_bilinear_grad",
    .doc = "The gradient of resize_bilinear; size is that of the images before.",
    .inputs = {"grads"},
    .attrs = {kSize},
    .dtypes = kFloating,
    .infer = [](const InferContext& c) { return Specs{{c.dtype(0), resized_shape(c)}}; },
    .grad = [](GradContext& g) { return Tensors{resize_bilinear(g.output_grad(), g.shape(0)[1], g.shape(0)[2])}; },
    .flops_per_element = 8,
};

OpGroup resizing_ops() {
  static constexpr const OpDef* kOps[] = {&resize_bilinear_op, &resize_bilinear_grad_op};
  return kOps;
}

Tensor resize_bilinear(const Tensor& images, std::int64_t height, std::int64_t width) {
  return resized(resize_bilinear_op, images, height, width);
}

}  // namespace tandem
