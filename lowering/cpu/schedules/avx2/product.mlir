// Products of rows with packed weights, 16 registers of 8 lanes: 12 hold sums,
// which are 6 vectors of 16 outputs.

module attributes {transform.with_named_sequence} {
  transform.named_sequence @product(%kernel: !transform.any_op {transform.readonly}) {
    // Few rows take several blocks of outputs at once, as one chain of sums
    // waits for every addition.
    %rows = transform.attn.loops "rows" of %kernel : (!transform.any_op) -> !transform.any_op
    %one, %two, %three, %many = transform.attn.specialize %rows to [1, 2, 3]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    %rows1 = transform.attn.loops "rows" of %one : (!transform.any_op) -> !transform.any_op
    transform.attn.jam %rows1 by [1] : !transform.any_op
    transform.attn.jam %one by [6, 3] : !transform.any_op
    %rows2 = transform.attn.loops "rows" of %two : (!transform.any_op) -> !transform.any_op
    transform.attn.jam %rows2 by [2] : !transform.any_op
    transform.attn.jam %two by [3] : !transform.any_op
    %rows3 = transform.attn.loops "rows" of %three : (!transform.any_op) -> !transform.any_op
    transform.attn.jam %rows3 by [3] : !transform.any_op
    transform.attn.jam %three by [2] : !transform.any_op

    // More rows share a block. So many at a time that what they read stays in
    // the second cache.
    %rowsOfMany = transform.attn.loops "rows" of %many : (!transform.any_op) -> !transform.any_op
    %parts = transform.attn.block %rowsOfMany by 96 : (!transform.any_op) -> !transform.any_op
    %rowsOfPart = transform.attn.loops "rows" of %parts : (!transform.any_op) -> !transform.any_op
    %three_, %four, %five, %six = transform.attn.tile %rowsOfPart by [3, 4, 5, 6]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    transform.attn.jam %three_ by [3] : !transform.any_op
    transform.attn.jam %four by [4] : !transform.any_op
    transform.attn.jam %five by [5] : !transform.any_op
    transform.attn.jam %six by [6] : !transform.any_op

    transform.apply_cse to %kernel : !transform.any_op
    // Weights are read once a step, from a cache that is slower than the sums;
    // the processor alone does not look far enough ahead.
    %inputs = transform.attn.loops "inputs" of %kernel : (!transform.any_op) -> !transform.any_op
    transform.attn.prefetch %inputs ahead 32 : !transform.any_op
    transform.loop.unroll %inputs {factor = 2} : !transform.any_op
    transform.yield
  }
}
