// Products of a group of lanes of a device: 16 outputs of at most four rows, one
// output a lane, or more outputs of few rows. Four rows share what is loaded of the
// weights; fewer go one after the other, with four times 16 outputs at once where
// there are as many. Several loads are under way at once.

module attributes {transform.with_named_sequence} {
  transform.named_sequence @product(%kernel: !transform.any_op {transform.readonly}) {
    %rows = transform.attn.loops "rows" of %kernel : (!transform.any_op) -> !transform.any_op
    %four, %few = transform.attn.specialize %rows to [4]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.attn.jam %few by [4] : !transform.any_op
    %rows4 = transform.attn.loops "rows" of %four : (!transform.any_op) -> !transform.any_op
    transform.attn.jam %rows4 by [4] : !transform.any_op
    transform.apply_cse to %kernel : !transform.any_op
    %inputs = transform.attn.loops "inputs" of %kernel : (!transform.any_op) -> !transform.any_op
    transform.loop.unroll %inputs {factor = 4} : !transform.any_op
    transform.yield
  }
}
