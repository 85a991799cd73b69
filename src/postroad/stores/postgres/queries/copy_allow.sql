-- This transaction is part of the copy, and may write.
select set_config('postroad.copying', 'on', true)
