// Products of rows with packed weights, 16 registers of 4 lanes: a vector of 16
// outputs takes four of them, the sums of three rows twelve.

module attributes {transform.with_named_sequence} {
  transform.named_sequence @product(%kernel: !transform.any_op {transform.readonly}) {
    %rows = transform.attn.loops "rows" of %kernel : (!transform.any_op) -> !transform.any_op
    %one, %two, %many = transform.attn.specialize %rows to [1, 2]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    // Four chains of sums are enough for one row; a second block of outputs
    // spares reading the row again.
    %rows1 = transform.attn.loops "rows" of %one : (!transform.any_op) -> !transform.any_op
    transform.attn.jam %rows1 by [1] : !transform.any_op
    transform.attn.jam %one by [2] : !transform.any_op
    %rows2 = transform.attn.loops "rows" of %two : (!transform.any_op) -> !transform.any_op
    transform.attn.jam %rows2 by [2] : !transform.any_op

    // So many rows at a time that what they read stays in the second cache.
    %rowsOfMany = transform.attn.loops "rows" of %many : (!transform.any_op) -> !transform.any_op
    %parts = transform.attn.block %rowsOfMany by 48 : (!transform.any_op) -> !transform.any_op
    %rowsOfPart = transform.attn.loops "rows" of %parts : (!transform.any_op) -> !transform.any_op
    %two_, %three = transform.attn.tile %rowsOfPart by [2, 3]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.attn.jam %two_ by [2] : !transform.any_op
    transform.attn.jam %three by [3] : !transform.any_op

    transform.apply_cse to %kernel : !transform.any_op
    transform.yield
  }

  // Products of quantised rows and weights.
  transform.named_sequence @product_int8(%kernel: !transform.any_op {transform.readonly}) {
    transform.include @product failures(propagate) (%kernel) : (!transform.any_op) -> ()
    transform.yield
  }
}
