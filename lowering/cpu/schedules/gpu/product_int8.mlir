// Products of quantised rows and weights: as those of f32.

module attributes {transform.with_named_sequence} {
  transform.named_sequence @product_int8(%kernel: !transform.any_op {transform.readonly}) {
    %rows = transform.attn.loops "rows" of %kernel : (!transform.any_op) -> !transform.any_op
    %four, %few = transform.attn.specialize %rows to [4]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %rows4 = transform.attn.loops "rows" of %four : (!transform.any_op) -> !transform.any_op
    transform.attn.jam %rows4 by [4] : !transform.any_op
    transform.apply_cse to %kernel : !transform.any_op
    %inputs = transform.attn.loops "inputs" of %kernel : (!transform.any_op) -> !transform.any_op
    transform.loop.unroll %inputs {factor = 4} : !transform.any_op
    transform.yield
  }
}
