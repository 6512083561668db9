// Products of quantised rows and weights: as those of f32, but for the number of
// rows. A product of integers needs a register of its own before it is added, so
// that fewer are left for sums.

module attributes {transform.with_named_sequence} {
  transform.named_sequence @product_int8(%kernel: !transform.any_op {transform.readonly}) {
    // Few rows take several blocks of outputs at once, as one chain of sums
    // waits for every addition.
    %rows = transform.attn.loops "rows" of %kernel : (!transform.any_op) -> !transform.any_op
    %one, %two, %three, %many = transform.attn.specialize %rows to [1, 2, 3]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    %rows1 = transform.attn.loops "rows" of %one : (!transform.any_op) -> !transform.any_op
    transform.attn.jam %rows1 by [1] : !transform.any_op
    transform.attn.jam %one by [3] : !transform.any_op
    %rows2 = transform.attn.loops "rows" of %two : (!transform.any_op) -> !transform.any_op
    transform.attn.jam %rows2 by [2] : !transform.any_op
    transform.attn.jam %two by [2] : !transform.any_op
    %rows3 = transform.attn.loops "rows" of %three : (!transform.any_op) -> !transform.any_op
    transform.attn.jam %rows3 by [3] : !transform.any_op
    transform.attn.jam %three by [2] : !transform.any_op

    // More rows share a block. So many at a time that what they read stays in
    // the second cache.
    %rowsOfMany = transform.attn.loops "rows" of %many : (!transform.any_op) -> !transform.any_op
    %parts = transform.attn.block %rowsOfMany by 144 : (!transform.any_op) -> !transform.any_op
    %rowsOfPart = transform.attn.loops "rows" of %parts : (!transform.any_op) -> !transform.any_op
    %two_, %three_, %four = transform.attn.tile %rowsOfPart by [2, 3, 4]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.attn.jam %two_ by [2] : !transform.any_op
    transform.attn.jam %three_ by [3] : !transform.any_op
    transform.attn.jam %four by [4] : !transform.any_op

    transform.apply_cse to %kernel : !transform.any_op
    // Weights are read once a step, from a cache that is slower than the sums;
    // the processor alone does not look far enough ahead.
    %inputs = transform.attn.loops "inputs" of %kernel : (!transform.any_op) -> !transform.any_op
    transform.attn.prefetch %inputs ahead 32 : !transform.any_op
    transform.loop.unroll %inputs {factor = 2} : !transform.any_op
    transform.yield
  }
}
