// Products of a group of lanes of a device: 16 outputs of at most four rows, one
// output a lane. The rows share what is loaded of the weights; several loads are
// under way at once.

module attributes {transform.with_named_sequence} {
  transform.named_sequence @product(%kernel: !transform.any_op {transform.readonly}) {
    %rows = transform.attn.loops "rows" of %kernel : (!transform.any_op) -> !transform.any_op
    %one, %two, %three, %four = transform.attn.specialize %rows to [1, 2, 3]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    %rows1 = transform.attn.loops "rows" of %one : (!transform.any_op) -> !transform.any_op
    transform.attn.jam %rows1 by [1] : !transform.any_op
    %rows2 = transform.attn.loops "rows" of %two : (!transform.any_op) -> !transform.any_op
    transform.attn.jam %rows2 by [2] : !transform.any_op
    %rows3 = transform.attn.loops "rows" of %three : (!transform.any_op) -> !transform.any_op
    transform.attn.jam %rows3 by [3] : !transform.any_op
    %rows4 = transform.attn.loops "rows" of %four : (!transform.any_op) -> !transform.any_op
    transform.attn.jam %rows4 by [4] : !transform.any_op
    transform.apply_cse to %kernel : !transform.any_op
    %inputs = transform.attn.loops "inputs" of %kernel : (!transform.any_op) -> !transform.any_op
    transform.loop.unroll %inputs {factor = 8} : !transform.any_op
    transform.yield
  }
}
