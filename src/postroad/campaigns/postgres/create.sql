-- A new draft.
insert into postroad.campaign (tenant, name, credential, spec, created_at)
values ($1, $2, $3, $4, postroad.now_ms()) on conflict (tenant, name) do nothing returning id
