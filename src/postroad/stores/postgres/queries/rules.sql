-- Answer rules, and how often they were met.

-- name: rule_put
-- Store a rule, or replace the one of the same name.
insert into postroad.answer_rule (tenant, name, rule, changed)
values ($1, $2, $3, greatest($4, 1 + coalesce((select max(changed) from postroad.answer_rule), 0)))
on conflict (tenant, name) do update set rule = excluded.rule, changed = excluded.changed returning 1

-- name: rule_delete
-- Delete a rule.
delete from postroad.answer_rule where tenant = $1 and name = $2 returning 1

-- name: rules_of
-- List the rules of a tenant by name.
select rule from postroad.answer_rule where tenant = $1 order by name collate "C"

-- name: rules_version
-- Tell whether rules have changed: by their number and the last change.
select count(*), coalesce(max(changed), 0) from postroad.answer_rule

-- name: rule_hit
-- Count that a rule was met on a lane, and forget what is older than its time or more than it needs.
insert into postroad.rule_hit as h (rule, lane_id, times, ends)
values ($1, $2, json_build_array($3::bigint)::text, $3::bigint + $4::bigint)
on conflict (rule, lane_id) do update set ends = excluded.ends, times = (
  select json_agg(t order by t desc)::text from (
    select value::bigint as t from json_array_elements_text(h.times::json) where value::bigint > $3::bigint - $4::bigint
    union all select $3::bigint order by 1 desc limit $5) x)
returning json_array_length(times::json)

-- name: rule_hits_forget
-- Delete what no rule counts any more.
delete from postroad.rule_hit where ends < $1 returning 1

-- name: erase_answer_rule
-- Delete the rules of a tenant.
delete from postroad.answer_rule where tenant = $1

-- name: erase_rule_hit
-- Delete how often the rules of a tenant were met.
delete from postroad.rule_hit where rule like replace(replace($1, '\', '\\'), '_', '\_') || '/%'
