-- Queues in a spell of quota or of an unreachable recipient.
select id, policy, block_kind, block_since from queue
 where block_kind in ('quota', 'unreachable') and paused_at = 0
